"""Evergraph: one store for ever-changing graphs.

>>> import evergraph as eg
>>> with eg.open() as db:  # in memory; eg.open("net.eg") keeps the graph in a directory
...     with db.begin() as tx:  # one transaction: committed when the block ends
...         tx.put_edge("alice", "bob", "knows", since=2019)
...         tx.put_edge("bob", "carol", "knows", since=2021)
...     view = db.snapshot()  # the graph as it is now; never changes
>>> view.out_neighbors("alice")
['bob']
>>> eg.bfs(view, "alice")["carol"]
2

`open` gives a `Database`, `Database.begin` a `Transaction`, `Database.snapshot` a `Snapshot`; the algorithms
run on snapshots.

Importing this package loads the native module and nothing else; numpy, pyarrow and the like are
imported where a call first needs them.
"""

from evergraph._communities import label_propagation, local_cluster, louvain
from evergraph._database import Database, check, open
from evergraph._errors import (
    AlreadyExistsError,
    ArchiveError,
    BackupError,
    ClosedError,
    ConflictError,
    CorruptionError,
    CycleError,
    DiskError,
    DurabilityError,
    EvergraphError,
    LoadError,
    LockedError,
    NewerFormatError,
    NoPathError,
    NotAStoreError,
    NotFoundError,
    PredicateError,
    ReadOnlyError,
    SavepointError,
    SchemaError,
    TransactionTimeoutError,
    VerifyError,
    ViewExistsError,
)
from evergraph._load import BatchResult, LoadResult, Reject, Rejects
from evergraph._native import __version__
from evergraph._pairs import (
    adamic_adar_index,
    common_neighbors,
    jaccard_coefficient,
    preferential_attachment,
    resource_allocation_index,
)
from evergraph._paths import bfs, diameter, k_hop, random_walks, shortest_path, sssp
from evergraph._ranking import betweenness_centrality, closeness_centrality, degree_statistics, pagerank
from evergraph._records import Edge, Vertex
from evergraph._results import (
    BetweennessResult,
    BfsResult,
    ClusteringResult,
    CommunitiesResult,
    ComponentsResult,
    CoreResult,
    DegreeResult,
    DiameterResult,
    DistanceResult,
    GroupsResult,
    KCoreResult,
    KHopResult,
    LocalClusterResult,
    LouvainResult,
    PageRankResult,
    PairsResult,
    PathResult,
    TopologicalOrder,
    VertexList,
    VertexResult,
    VertexSet,
    WalksResult,
)
from evergraph._snapshot import ArrowGraph, Csr, Snapshot
from evergraph._stats import CheckReport, Problem, Stats
from evergraph._structure import (
    clustering,
    connected_components,
    core_number,
    find_cycle,
    k_core,
    local_clustering_coefficient,
    maximal_independent_set,
    strongly_connected_components,
    topological_sort,
    triangle_count,
)
from evergraph._table import Column, Table
from evergraph._transaction import Savepoint, Transaction
from evergraph._types import Durability, Duration, Isolation, Key, KeyKind, PropertyType, Value
from evergraph._views import Scratch, View, ViewStatistics

__all__ = [
    "AlreadyExistsError",
    "ArchiveError",
    "ArrowGraph",
    "BackupError",
    "BatchResult",
    "BetweennessResult",
    "BfsResult",
    "CheckReport",
    "ClosedError",
    "ClusteringResult",
    "Column",
    "CommunitiesResult",
    "ComponentsResult",
    "ConflictError",
    "CoreResult",
    "CorruptionError",
    "Csr",
    "CycleError",
    "Database",
    "DegreeResult",
    "DiameterResult",
    "DiskError",
    "DistanceResult",
    "Durability",
    "DurabilityError",
    "Duration",
    "Edge",
    "EvergraphError",
    "GroupsResult",
    "Isolation",
    "KCoreResult",
    "KHopResult",
    "Key",
    "KeyKind",
    "LoadError",
    "LoadResult",
    "LocalClusterResult",
    "LockedError",
    "LouvainResult",
    "NewerFormatError",
    "NoPathError",
    "NotAStoreError",
    "NotFoundError",
    "PageRankResult",
    "PairsResult",
    "PathResult",
    "PredicateError",
    "Problem",
    "PropertyType",
    "ReadOnlyError",
    "Reject",
    "Rejects",
    "Savepoint",
    "SavepointError",
    "SchemaError",
    "Scratch",
    "Snapshot",
    "Stats",
    "Table",
    "TopologicalOrder",
    "Transaction",
    "TransactionTimeoutError",
    "Value",
    "VerifyError",
    "Vertex",
    "VertexList",
    "VertexResult",
    "VertexSet",
    "View",
    "ViewExistsError",
    "ViewStatistics",
    "WalksResult",
    "__version__",
    "adamic_adar_index",
    "betweenness_centrality",
    "bfs",
    "check",
    "closeness_centrality",
    "clustering",
    "common_neighbors",
    "connected_components",
    "core_number",
    "degree_statistics",
    "diameter",
    "find_cycle",
    "jaccard_coefficient",
    "k_core",
    "k_hop",
    "label_propagation",
    "local_cluster",
    "local_clustering_coefficient",
    "louvain",
    "maximal_independent_set",
    "open",
    "pagerank",
    "preferential_attachment",
    "random_walks",
    "resource_allocation_index",
    "shortest_path",
    "sssp",
    "strongly_connected_components",
    "topological_sort",
    "triangle_count",
]
