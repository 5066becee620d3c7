//! Every algorithm stops when it is told to, and says how far it is.

use std::time::{Duration, Instant};

use evergraph_analytics::{
    AlgorithmError, Arguments, BetweennessOptions, Check, ColorOrder, Control, Definition, Kind,
    PageRankOptions, Value, algorithm, algorithms, betweenness_centrality, clustering, greedy_color,
    pagerank, triangle_count,
};
use evergraph_view::{FlatView, GraphView};

fn ring() -> FlatView {
    let edges: Vec<_> = (0..1000).map(|vertex| (vertex, (vertex + 1) % 1000, 1.0)).collect();
    FlatView::from_weighted_edges(1000, &edges, false)
}

/// A graph that the algorithm has a result for.
fn graph_for(name: &str) -> FlatView {
    let path: Vec<_> = (0..999).map(|vertex| (vertex, vertex + 1)).collect();
    if name == "topological_sort" { FlatView::from_edges(1000, &path, false) } else { ring() }
}

/// What each algorithm needs at least.
fn required(name: &str) -> Arguments {
    let algorithm = algorithm(name).expect("a name");
    let needed = algorithm.arguments.iter().filter(|argument| argument.default.is_none());
    needed.fold(Arguments::new(), |arguments, argument| match argument.kind {
        Kind::Vertex => arguments.with(argument.name, Value::Vertex(0)),
        Kind::Vertices => arguments.with(argument.name, Value::Vertices(vec![0])),
        kind => panic!("no {kind:?} to give"),
    })
}

/// What each algorithm needs on a view without a store.
fn given(name: &str) -> Arguments {
    let arguments = required(name);
    if name == "temporal_reachability" {
        return arguments.with("time", Value::Text("weight".to_owned()));
    }
    arguments
}

#[test]
fn every_algorithm_runs_verified_reports_progress_and_names_its_results() {
    for algorithm in algorithms() {
        let (view, control) = (graph_for(algorithm.name), Control::new());
        let outcome =
            algorithm.run(&view, &given(algorithm.name), Check::Verify, &control).expect(algorithm.name);
        assert!(control.status().total > 0, "{} reports no progress", algorithm.name);
        let columns = outcome.columns.iter().map(|(name, _)| *name);
        let names: Vec<&str> = columns.chain(outcome.values.iter().map(|(name, _)| *name)).collect();
        let described: Vec<&str> = algorithm.results.iter().map(|field| field.name).collect();
        assert_eq!(names, described, "{}", algorithm.name);
    }
}

#[test]
fn every_algorithm_stops_when_cancelled() {
    let view = ring();
    let control = Control::new();
    control.cancel();
    for algorithm in algorithms() {
        let result = algorithm.run(&view, &given(algorithm.name), Check::Skip, &control);
        assert_eq!(result, Err(AlgorithmError::Cancelled), "{}", algorithm.name);
    }
}

#[test]
fn a_long_walk_stops_on_its_way() {
    let view = ring();
    for name in ["random_walks", "node2vec_walks"] {
        let arguments = given(name).with("length", Value::Count(1 << 31)).with("walks", Value::Count(1));
        let control = Control::new();
        std::thread::scope(|scope| {
            let walks = algorithm(name).expect("a name");
            let running = scope.spawn(|| walks.run(&view, &arguments, Check::Skip, &control));
            while control.status().done == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            control.cancel();
            assert_eq!(running.join().expect("no panic"), Err(AlgorithmError::Cancelled), "{name}");
            assert!(control.status().done < control.status().total, "{name}: {:?}", control.status());
        });
    }
}

#[test]
fn a_verifier_stops_when_cancelled() {
    let (view, running, stopped) = (ring(), Control::new(), Control::new());
    stopped.cancel();
    let cancelled = Err(AlgorithmError::Cancelled);
    let triangles = triangle_count(&view, &running).expect("a result");
    assert_eq!(evergraph_analytics::triangle_count::verify(&view, triangles, &stopped), cancelled);
    let (options, ranks) =
        (PageRankOptions::default(), pagerank(&view, &PageRankOptions::default(), &running));
    let ranks = ranks.expect("a result");
    assert_eq!(evergraph_analytics::pagerank::verify(&view, &options, &ranks, &stopped), cancelled);
    let (definition, options) = (Definition::NetworkX, BetweennessOptions::default());
    let found = clustering(&view, &running).expect("a result");
    assert_eq!(evergraph_analytics::clustering::verify(&view, definition, &found, &stopped), cancelled);
    let scores = betweenness_centrality(&view, &options, &running).expect("a result");
    let verify = evergraph_analytics::betweenness_centrality::verify;
    assert_eq!(verify(&view, &options, &scores, &stopped), cancelled);
}

#[test]
fn how_much_there_is_is_told_from_the_start_or_not_at_all() {
    let view = ring();
    let run = |name: &str, control: &Control| {
        let arguments = match name {
            "betweenness_centrality" => given(name).with("weight", Value::Text("weight".to_owned())),
            _ => given(name),
        };
        algorithm(name).expect("a name").run(&view, &arguments, Check::Skip, control)
    };
    for (name, total) in [("betweenness_centrality", 1000), ("bellman_ford", 0), ("local_cluster", 0)] {
        let control = Control::new();
        control.cancel();
        assert_eq!(run(name, &control), Err(AlgorithmError::Cancelled));
        assert_eq!((control.status().done, control.status().total), (0, total), "{name}");
        let control = Control::new();
        assert!(run(name, &control).is_ok());
        assert_eq!(control.status().done, control.status().total, "{name}");
    }
}

#[test]
fn a_running_algorithm_stops_within_a_fifth_of_a_second() {
    let edges: Vec<_> = (0..1_000_000u32).map(|edge| (edge % 50_021, edge % 49_999)).collect();
    let view = FlatView::from_edges(50_021, &edges, false);
    let options = PageRankOptions { tol: 0.0, max_iter: u32::MAX, ..PageRankOptions::default() };
    let stop = || {
        let control = Control::new();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| pagerank(&view, &options, &control));
            while control.status().done < 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            control.cancel();
            let asked = Instant::now();
            assert_eq!(running.join().expect("no panic"), Err(AlgorithmError::Cancelled));
            asked.elapsed()
        })
    };
    // A machine with other work to do may be slow once, not every time.
    let took = (0..5).map(|_| stop()).min().expect("five times");
    assert!(took < Duration::from_millis(200), "{took:?}");
}

/// However many edges the vertices have that are taken out one after the other.
#[test]
fn an_order_of_vertices_with_many_edges_stops_soon() {
    let edges: Vec<_> = (0..4_000_000u32).map(|edge| (edge % 199, edge / 199 % 197)).collect();
    let view = FlatView::from_edges(200, &edges, true);
    let stop = || {
        let control = Control::new();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| greedy_color(&view, ColorOrder::SmallestLast, &control));
            std::thread::sleep(Duration::from_millis(100));
            control.cancel();
            let asked = Instant::now();
            assert_eq!(running.join().expect("no panic"), Err(AlgorithmError::Cancelled));
            asked.elapsed()
        })
    };
    let took = (0..3).map(|_| stop()).min().expect("three times");
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn counts_are_taken_as_they_are_or_refused() {
    let edge = FlatView::from_weighted_edges(2, &[(0, 1, 1.0)], false);
    let refused = |name: &str, arguments: &Arguments| match algorithm(name).expect("a name").run(
        &edge,
        arguments,
        Check::Skip,
        &Control::new(),
    ) {
        Err(AlgorithmError::InvalidArgument { name, .. }) => name,
        _ => String::new(),
    };
    for entry in algorithms() {
        for argument in entry.arguments.iter().filter(|argument| argument.kind == Kind::Count) {
            let arguments = given(entry.name).with(argument.name, Value::Count(1 << 32));
            let wanted = if argument.name == "seed" { "" } else { argument.name };
            assert_eq!(refused(entry.name, &arguments), wanted, "{}", entry.name);
        }
    }
    for name in ["random_walks", "node2vec_walks"] {
        let many = given(name).with("length", Value::Count(1 << 20)).with("walks", Value::Count(1 << 12));
        assert_eq!(refused(name, &many), "length", "{name}");
    }
}

#[test]
fn names_are_unique_and_found() {
    for (position, entry) in algorithms().iter().enumerate() {
        assert!(std::ptr::eq(algorithm(entry.name).expect("found"), *entry));
        assert!(algorithms()[..position].iter().all(|other| other.name != entry.name));
        assert!(!entry.summary.is_empty() && !entry.source.is_empty() && entry.complexity.starts_with("O("));
    }
    assert!(algorithm("nothing").is_none());
}

#[test]
fn arguments_are_read_and_refused_by_name() {
    let pagerank = algorithm("pagerank").expect("pagerank");
    let alpha = &pagerank.arguments[0];
    assert_eq!(alpha.parse("0.5"), Ok(Value::Float(0.5)));
    assert!(
        matches!(alpha.parse("half"), Err(AlgorithmError::InvalidArgument { name, .. }) if name == "alpha")
    );
    let bad = [
        Arguments::new().with("beta", Value::Float(1.0)),
        Arguments::new().with("alpha", Value::Count(1)),
        Arguments::new().with("alpha", Value::Float(2.0)),
    ];
    for arguments in bad {
        let result = pagerank.run(&ring(), &arguments, Check::Skip, &Control::new());
        assert!(matches!(result, Err(AlgorithmError::InvalidArgument { .. })), "{arguments:?}: {result:?}");
    }
    let bfs = algorithm("bfs").expect("bfs");
    let result = bfs.run(&ring(), &Arguments::new(), Check::Skip, &Control::new());
    assert!(matches!(result, Err(AlgorithmError::InvalidArgument { name, .. }) if name == "source"));
    let outside = Arguments::new().with("source", Value::Vertices(vec![ring().id_bound()]));
    let result = bfs.run(&ring(), &outside, Check::Skip, &Control::new());
    assert_eq!(result, Err(AlgorithmError::SourceNotFound { vertex: 1000 }));
}
