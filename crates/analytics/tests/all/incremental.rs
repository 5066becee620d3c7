//! Incremental algorithms against their batch twins, after every batch of random histories: edges come, come again, change
//! and go, one by one or with their vertex; vertices come, go and come back; lists are simple or multi, flat or chunked.

use crate::common::{Edge, Graph, complete};
use evergraph_analytics::incremental::{
    Changes, Incremental, IncrementalBfs, IncrementalComponents, IncrementalCores, IncrementalDegrees,
    IncrementalPageRank, IncrementalSssp, IncrementalTriangles, TopK, incremental, incremental_algorithms,
};
use evergraph_analytics::{
    Arguments, BfsOptions, Control, PageRankOptions, SsspOptions, UNREACHED, Value, VertexColumn, Weight,
    algorithm, bfs, connected_components, core_number, degree_statistics, pagerank, sssp, triangle_count,
};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

/// What a commit may do, on vertices given by a number that is taken modulo their count.
#[derive(Clone, Debug)]
enum Step {
    Put(VertexId, VertexId, u8),
    Delete(VertexId, VertexId),
    DeleteVertex(VertexId),
    Grow(u8),
}

fn any_step() -> impl Strategy<Value = Step> {
    let end = || any::<VertexId>();
    prop_oneof![
        12 => (end(), end(), 0u8..6).prop_map(|(src, dst, weight)| Step::Put(src, dst, weight)),
        8 => (end(), end()).prop_map(|(src, dst)| Step::Delete(src, dst)),
        1 => end().prop_map(Step::DeleteVertex),
        1 => (1u8..4).prop_map(Step::Grow),
    ]
}

/// A graph that changes, and what was written since it was last looked at.
struct Model {
    graph: Graph,
    weights: Vec<f64>,
    edges_written: Vec<Edge>,
    vertices_written: Vec<VertexId>,
}

impl Model {
    fn new(vertices: usize, symmetric: bool, multi: bool, chunk_len: usize) -> Self {
        let graph = Graph { multi, chunk_len, ..Graph::new(vertices, &[], symmetric) };
        Model { graph, weights: Vec::new(), edges_written: Vec::new(), vertices_written: Vec::new() }
    }

    fn is(&self, left: Edge, right: Edge) -> bool {
        left == right || self.graph.symmetric && left == (right.1, right.0)
    }

    fn apply(&mut self, step: &Step) {
        let count = self.graph.exists.len() as VertexId;
        match *step {
            Step::Put(src, dst, weight) => {
                // Ends from few vertices now and then, so that edges repeat and deletions meet them.
                let edge = (src % count, dst % count.min(1 + src % 16));
                self.put(edge, f64::from(weight));
            }
            Step::Delete(src, dst) => {
                let picked = self.graph.edges.get(src as usize % self.graph.edges.len().max(1)).copied();
                self.delete(picked.unwrap_or((src % count, dst % count)));
            }
            Step::DeleteVertex(vertex) => {
                let vertex = vertex % count;
                let edges = self.graph.edges.clone();
                edges
                    .into_iter()
                    .filter(|&(src, dst)| src == vertex || dst == vertex)
                    .for_each(|edge| self.delete(edge));
                self.graph.exists[vertex as usize] = false;
                self.vertices_written.push(vertex);
            }
            Step::Grow(by) => self.graph.exists.resize(count as usize + usize::from(by), false),
        }
    }

    fn put(&mut self, edge: Edge, weight: f64) {
        for vertex in [edge.0, edge.1] {
            self.graph.exists[vertex as usize] = true;
            self.vertices_written.push(vertex);
        }
        self.edges_written.push(edge);
        let old = (0..self.graph.edges.len()).find(|&at| self.is(self.graph.edges[at], edge));
        match old.filter(|_| !self.graph.multi) {
            Some(at) => self.weights[at] = weight,
            None => {
                self.graph.edges.push(edge);
                self.weights.push(weight);
            }
        }
    }

    fn delete(&mut self, edge: Edge) {
        self.edges_written.push(edge);
        let kept: Vec<bool> = self.graph.edges.iter().map(|&other| !self.is(other, edge)).collect();
        let mut keep = kept.iter();
        self.graph.edges.retain(|_| *keep.next().expect("one each"));
        let mut keep = kept.iter();
        self.weights.retain(|_| *keep.next().expect("one each"));
    }

    fn view(&self) -> FlatView {
        if self.graph.edges.is_empty() { self.graph.view() } else { self.graph.weighted_view(&self.weights) }
    }

    fn changes(&mut self, before: &FlatView, after: &FlatView) -> Changes {
        Changes::between(before, after, self.edges_written.drain(..), self.vertices_written.drain(..))
    }
}

fn any_history() -> impl Strategy<Value = (Model, Vec<Vec<Step>>)> {
    let shape = (1usize..40, any::<bool>(), any::<bool>(), prop_oneof![Just(usize::MAX), 1usize..4]);
    let batches = prop::collection::vec(prop::collection::vec(any_step(), 0..30), 1..8);
    (shape, batches).prop_map(|((vertices, symmetric, multi, chunk_len), batches)| {
        (Model::new(vertices, symmetric, multi, chunk_len), batches)
    })
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.graph.fmt(f)
    }
}

/// Everything that follows a graph.
struct Followers {
    bfs: Vec<(IncrementalBfs, Vec<VertexId>, BfsOptions)>,
    sssp: Vec<(IncrementalSssp, Vec<VertexId>, SsspOptions)>,
    components: IncrementalComponents,
    pagerank: IncrementalPageRank,
    degrees: IncrementalDegrees,
    triangles: IncrementalTriangles,
    cores: IncrementalCores,
}

fn ranks() -> PageRankOptions {
    PageRankOptions { tol: 1e-9, max_iter: 1000, ..PageRankOptions::default() }
}

impl Followers {
    fn new(view: &FlatView) -> Self {
        let control = Control::new();
        let several = [0, view.id_bound() / 2];
        let bfs = [(vec![0], false, None), (several.to_vec(), true, None), (vec![0], false, Some(2))];
        let start_bfs = |(sources, reverse, depth_limit): (Vec<VertexId>, bool, Option<u32>)| {
            let options = BfsOptions { reverse, depth_limit };
            (IncrementalBfs::new(view, &sources, &options, &control).expect("a search"), sources, options)
        };
        let sssp = [(vec![0], false, None), (several.to_vec(), true, None), (vec![0], false, Some(5.0))];
        let start_sssp = |(sources, reverse, cutoff): (Vec<VertexId>, bool, Option<f64>)| {
            let options = SsspOptions { reverse, cutoff, ..SsspOptions::default() };
            (IncrementalSssp::new(view, &sources, &options).expect("a search"), sources, options)
        };
        Followers {
            bfs: bfs.into_iter().map(start_bfs).collect(),
            sssp: sssp.into_iter().map(start_sssp).collect(),
            components: IncrementalComponents::new(view, &control).expect("components"),
            pagerank: IncrementalPageRank::new(view, &ranks(), &control).expect("ranks"),
            degrees: IncrementalDegrees::new(view, &control).expect("degrees"),
            triangles: IncrementalTriangles::new(view, &control).expect("triangles"),
            cores: IncrementalCores::new(view, &control).expect("cores"),
        }
    }

    /// Has them follow the model from that view on, and checks them; gives the view they have come to.
    fn follow(&mut self, model: &mut Model, before: &FlatView) -> FlatView {
        let after = model.view();
        self.update(&after, &model.changes(before, &after));
        self.check(&after);
        after
    }

    fn update(&mut self, view: &FlatView, changes: &Changes) {
        let searches = self.bfs.iter_mut().map(|(search, ..)| search as &mut dyn Incremental);
        let weighted = self.sssp.iter_mut().map(|(search, ..)| search as &mut dyn Incremental);
        let rest: [&mut dyn Incremental; 5] = [
            &mut self.components,
            &mut self.pagerank,
            &mut self.degrees,
            &mut self.triangles,
            &mut self.cores,
        ];
        searches
            .chain(weighted)
            .chain(rest)
            .for_each(|follower| follower.update(view, changes).expect("an update"));
    }

    fn check(&mut self, view: &FlatView) {
        let control = Control::new();
        let existing = |sources: &[VertexId]| -> Vec<VertexId> {
            sources.iter().copied().filter(|&source| view.has_vertex(source)).collect()
        };
        for (search, sources, options) in &self.bfs {
            let found = search.result();
            let twin = bfs(view, &existing(sources), options, &control).expect("a result");
            assert_eq!(
                (&found.distances, found.reached, found.depth),
                (&twin.distances, twin.reached, twin.depth)
            );
            evergraph_analytics::bfs::verify(view, &existing(sources), options, &found, &Control::new())
                .expect("a tree");
            check_paths(search);
        }
        for (search, sources, options) in &self.sssp {
            assert_eq!(search.result(), sssp(view, &existing(sources), options, &control).expect("a result"));
        }
        let twin = connected_components(view, &control).expect("a result");
        assert_eq!(self.components.result(), twin);
        for (label, size) in twin.sizes() {
            assert_eq!(self.components.size_of(label), size);
        }
        let twin = degree_statistics(view, &control).expect("a result");
        let existing = (0..).zip(&twin.degrees).filter(|&(vertex, _)| view.has_vertex(vertex));
        let mut largest: Vec<(VertexId, u32)> = existing.map(|(vertex, &degree)| (vertex, degree)).collect();
        largest.sort_by_key(|&(vertex, degree)| (std::cmp::Reverse(degree), vertex));
        largest.truncate(3);
        assert_eq!(self.degrees.top(3), largest);
        assert_eq!(self.degrees.result(), twin);
        assert_eq!(self.triangles.count(), triangle_count(view, &control).expect("a result"));
        assert_eq!(self.cores.result(), core_number(view, &control).expect("a result"));
        let (found, twin) = (self.pagerank.result(), pagerank(view, &ranks(), &control).expect("a result"));
        let difference: f64 =
            found.scores.iter().zip(&twin.scores).map(|(left, right)| (left - right).abs()).sum();
        let bound = 3.0 * view.num_vertices() as f64 * ranks().tol / (1.0 - ranks().alpha);
        assert!(difference <= bound, "{difference} of {bound}");
        assert!(found.error <= view.num_vertices() as f64 * ranks().tol);
    }
}

fn check_paths(search: &IncrementalBfs) {
    for (vertex, &distance) in (0..).zip(search.distances()) {
        let hops = search.path(vertex).map_or(UNREACHED, |path| path.len() as u32 - 1);
        assert_eq!(hops, distance);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_batch_leads_to_the_result_of_the_batch_twin((mut model, batches) in any_history()) {
        let mut before = model.view();
        let mut followers = Followers::new(&before);
        followers.check(&before);
        for batch in &batches {
            batch.iter().for_each(|step| model.apply(step));
            before = followers.follow(&mut model, &before);
        }
    }

    #[test]
    fn the_largest_scores_are_those_of_a_sort(
        mut scores in prop::collection::vec(0u8..50, 0..300),
        k in 0usize..8,
        batches in prop::collection::vec(prop::collection::vec((any::<prop::sample::Index>(), 0u8..60), 0..80), 0..12),
    ) {
        // Who has a score of 0 is not there.
        let known = |scores: &[u8], vertex: VertexId| Some(f64::from(scores[vertex as usize])).filter(|&score| score > 0.0);
        let bound = |scores: &[u8]| scores.len() as VertexId;
        let mut top = TopK::new(k, bound(&scores), |vertex| known(&scores, vertex));
        for batch in batches {
            let mut changed = Vec::new();
            for (place, score) in batch {
                let at = place.index(scores.len() + 1);
                if at == scores.len() { scores.push(score) } else { scores[at] = score }
                changed.push(at as VertexId);
            }
            top.update(bound(&scores), |vertex| known(&scores, vertex), changed);
            let all = (0..bound(&scores)).filter_map(|vertex| Some((vertex, known(&scores, vertex)?)));
            let mut sorted: Vec<(VertexId, f64)> = all.collect();
            sorted.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            sorted.truncate(k);
            prop_assert_eq!(top.result(), sorted);
        }
    }
}

/// A dense core with a long tail, which is cut, hooked in elsewhere and taken apart.
#[test]
fn a_bridge_goes_and_comes_back() {
    let mut model = Model::new(200, true, false, usize::MAX);
    complete(30).into_iter().for_each(|edge| model.put(edge, 1.0));
    (30..200).for_each(|vertex| model.put((vertex, vertex - 1), 2.0));
    let mut before = model.view();
    let mut followers = Followers::new(&before);
    let bridges = [(100, 99), (30, 29), (199, 198)];
    for edge in bridges.iter().chain(&bridges) {
        let there = model.graph.edges.contains(edge);
        if there {
            model.delete(*edge)
        } else {
            model.put(*edge, 1.0)
        }
        before = followers.follow(&mut model, &before);
    }
}

#[test]
fn by_name_an_algorithm_has_the_outcome_of_its_twin() {
    let before = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 0)], false);
    let after = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 3)], false);
    let changes = Changes::between(&before, &after, [(2, 0), (2, 3)], []);
    let source = Arguments::new().with("source", Value::Vertices(vec![0]));
    for &name in incremental_algorithms() {
        let arguments = if ["bfs", "sssp"].contains(&name) { source.clone() } else { Arguments::new() };
        let mut state = incremental(name, &before, &arguments, &Control::new()).expect("an algorithm");
        state.update(&after, &changes).expect("an update");
        let twin = algorithm(name).expect("a batch twin");
        let expected = twin.run(&after, &arguments, evergraph_analytics::Check::Skip, &Control::new());
        let (found, expected) = (state.outcome(), expected.expect("a result"));
        let names = |outcome: &evergraph_analytics::Outcome| {
            let columns = outcome.columns.iter().map(|(name, column)| (*name, column.len()));
            (columns.collect::<Vec<_>>(), outcome.values.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        };
        assert_eq!(names(&found), names(&expected), "{name}");
        if name != "pagerank" {
            assert_eq!(found, expected, "{name}");
        }
        // The largest values, but of labels and of algorithms without any.
        let has_values = !["connected_components", "triangle_count"].contains(&name);
        let top = state.top(&after, 2);
        assert_eq!(
            top.as_ref().map(|top| top.columns[1].0),
            has_values.then(|| expected.columns[0].0),
            "{name}"
        );
        let largest = |top: evergraph_analytics::Outcome| match (&top.columns[0].1, &top.columns[1].1) {
            (VertexColumn::Vertices(vertices), values) => (vertices.clone(), values.clone()),
            other => panic!("{other:?}"),
        };
        match name {
            "degree_statistics" => {
                let wanted = (vec![1, 2], VertexColumn::Counts(vec![2, 2]));
                assert_eq!(top.map(largest), Some(wanted), "{name}");
            }
            "bfs" => assert_eq!(top.map(largest), Some((vec![3, 2], VertexColumn::Counts(vec![3, 2])))),
            _ => {}
        }
    }
    for (name, arguments) in [("louvain", Arguments::new()), ("bfs", Arguments::new()), ("pagerank", source)]
    {
        assert!(incremental(name, &before, &arguments, &Control::new()).is_err(), "{name}");
    }
}

#[test]
fn what_pagerank_cannot_follow_is_refused() {
    let view = FlatView::from_edges(2, &[(0, 1)], false);
    let default = PageRankOptions::default();
    let refused = [
        PageRankOptions { alpha: 1.0, ..default.clone() },
        PageRankOptions { tol: 0.0, ..default.clone() },
        PageRankOptions { personalization: Some(vec![1.0, 0.0]), ..default.clone() },
        PageRankOptions { dangling: Some(vec![1.0, 0.0]), ..default.clone() },
        PageRankOptions { weight: Weight::Usual, ..default },
    ];
    for options in refused {
        assert!(IncrementalPageRank::new(&view, &options, &Control::new()).is_err(), "{options:?}");
    }
}

#[test]
fn a_bad_weight_is_named() {
    let before = FlatView::from_weighted_edges(2, &[], false);
    let mut search = IncrementalSssp::new(&before, &[0], &SsspOptions::default()).expect("a search");
    let after = FlatView::from_weighted_edges(2, &[(1, 0, -1.0)], false);
    let changes = Changes::between(&before, &after, [(1, 0)], []);
    assert!(search.update(&after, &changes).is_err());
    assert_eq!(changes.inserted, [(1, 0)]);
}
