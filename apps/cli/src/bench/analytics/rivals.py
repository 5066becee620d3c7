"""Times other libraries on a graph: FILE VERTICES ITERATIONS THREADS SOURCES KERNELS LIBRARIES.

The file has three 32-bit words for each undirected edge: both ends and the length. Announces each library
and kernel in a line of JSON, then runs it and prints the seconds for each line "run" that it reads, until
another line comes; standard error names the libraries that are not installed.
"""

import json
import sys
import time

import numpy as np

path, vertices, iterations, threads, sources, kernels, libraries = sys.argv[1:8]
vertices, iterations, threads = int(vertices), int(iterations), int(threads)
sources = [int(source) for source in sources.split(",")]
kernels = set(kernels.split(","))
edges = np.fromfile(path, dtype="<u4").reshape(-1, 3)


def measure(library, library_threads, runs):
    for kernel, run in runs.items():
        if kernel not in kernels:
            continue
        print(json.dumps({"library": library, "kernel": kernel, "threads": library_threads}), flush=True)
        while sys.stdin.readline().strip() == "run":
            start = time.perf_counter()
            run()
            print(json.dumps(time.perf_counter() - start), flush=True)


def networkit():
    import networkit as nk

    nk.setNumberOfThreads(threads)
    src, dst, length = (edges[:, column].astype(np.uint64) for column in range(3))
    plain = nk.GraphFromCoo((src, dst), n=vertices)
    weighted = nk.GraphFromCoo((length.astype(np.float64), (src, dst)), n=vertices, weighted=True)

    def pagerank():
        # A tolerance that is never met, so that all iterations are done.
        algorithm = nk.centrality.PageRank(plain, damp=0.85, tol=1e-300)
        algorithm.maxIterations = iterations
        algorithm.run()

    def triangles():
        plain.indexEdges()
        nk.sparsification.TriangleEdgeScore(plain).run()

    measure(
        "NetworKit",
        threads,
        {
            "bfs": lambda: [nk.distance.BFS(plain, source, storePaths=False).run() for source in sources],
            "pagerank": pagerank,
            "components": lambda: nk.components.ParallelConnectedComponents(plain).run(),
            "sssp": lambda: [
                nk.distance.Dijkstra(weighted, source, storePaths=False).run() for source in sources
            ],
            # It draws the sources itself, as many.
            "betweenness": lambda: nk.centrality.EstimateBetweenness(plain, len(sources), False, True).run(),
            "triangles": triangles,
        },
    )


def igraph():
    import igraph

    graph = igraph.Graph(n=vertices, edges=edges[:, :2].astype(np.int64))
    graph.es["length"] = edges[:, 2].astype(float)
    measure(
        "igraph",
        1,
        {
            "bfs": lambda: [graph.distances(source) for source in sources],
            # Its solver is exact: the iterations that ours needs for the same precision are about as many.
            "pagerank": lambda: graph.pagerank(),
            "components": lambda: graph.connected_components(),
            "sssp": lambda: [graph.distances(source, weights="length") for source in sources],
            "betweenness": lambda: graph.betweenness(sources=sources),
            # It has no plain count; the transitivity counts the triangles and divides.
            "triangles": lambda: graph.transitivity_undirected(),
        },
    )


def networkx():
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from((int(src), int(dst), int(length)) for src, dst, length in edges)
    plain = nx.Graph(graph.edges())
    measure(
        "NetworkX",
        1,
        {
            "bfs": lambda: [nx.single_source_shortest_path_length(plain, source) for source in sources],
            "pagerank": lambda: nx.pagerank(plain, max_iter=100),
            "components": lambda: list(nx.connected_components(plain)),
            "sssp": lambda: [nx.single_source_dijkstra_path_length(graph, source) for source in sources],
            "betweenness": lambda: nx.betweenness_centrality_subset(plain, sources, list(plain)),
            "triangles": lambda: nx.triangles(plain),
        },
    )


for library in networkit, igraph, networkx:
    if library.__name__ not in libraries.split(","):
        continue
    try:
        library()
    except ImportError:
        print(f"{library.__name__}: not installed", file=sys.stderr)
