//! The graphs are what their models promise, and stay so: counts, distribution, determinism, golden digests.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::ops::ControlFlow;

use evergraph_generate::{
    EDGES_PER_BLOCK, Edge, ErdosRenyi, Generator, Kronecker, MAX_SCALE, Model, ModelError,
};
use proptest::prelude::*;

fn kronecker(scale: u32, edge_factor: u64) -> Model {
    Model::Kronecker(Kronecker::graph500(scale, edge_factor))
}

fn erdos_renyi(vertices: u64, edges: u64) -> Model {
    Model::ErdosRenyi(ErdosRenyi { vertices, edges })
}

fn all_edges(model: Model, seed: u64) -> Vec<Edge> {
    let generator = Generator::new(model, seed).unwrap();
    let mut edges = Vec::new();
    let finished = generator.for_each_block(|block| {
        edges.extend(block);
        ControlFlow::<()>::Continue(())
    });
    assert!(finished.is_continue());
    edges
}

fn degrees(edges: &[Edge], vertices: u64) -> Vec<u64> {
    let mut degrees = vec![0; vertices as usize];
    for &(src, dst) in edges {
        degrees[src as usize] += 1;
        degrees[dst as usize] += 1;
    }
    degrees
}

/// FNV-1a over the numbers of all edges.
fn digest(edges: &[Edge]) -> u64 {
    edges.iter().flat_map(|&(src, dst)| [src, dst]).fold(0xCBF2_9CE4_8422_2325, |hash, number| {
        number
            .to_le_bytes()
            .iter()
            .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
    })
}

#[test]
fn seeds_keep_their_graphs_over_versions() {
    // If this fails, every published figure on a generated graph names another graph: change it knowingly or not at all.
    assert_eq!(digest(&all_edges(kronecker(12, 16), 1)), GOLDEN_KRONECKER);
    assert_eq!(digest(&all_edges(kronecker(13, 9), 2)), GOLDEN_ODD_SCALE);
    assert_eq!(digest(&all_edges(erdos_renyi(1000, 70_000), 3)), GOLDEN_UNIFORM);
}

const GOLDEN_KRONECKER: u64 = 0x3D0A_63F9_5C56_A4F2;
const GOLDEN_ODD_SCALE: u64 = 0xB040_C084_BBA0_71BE;
const GOLDEN_UNIFORM: u64 = 0x10A9_AC17_EE90_8E9C;

#[test]
fn thread_count_changes_nothing() {
    for model in [kronecker(14, 16), erdos_renyi(5000, 3 * EDGES_PER_BLOCK + 17)] {
        let under = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (all_edges(model, 5), Generator::new(model, 5).unwrap().collect_pairs().unwrap()))
        };
        let (one, one_collected) = under(1);
        assert_eq!((&one, &one_collected), (&under(3).0, &under(3).1));
        let widened: Vec<Edge> = one_collected.iter().map(|&(src, dst)| (src.into(), dst.into())).collect();
        assert_eq!(one, widened);
    }
}

#[test]
fn seeds_and_blocks_differ() {
    let generator = Generator::new(kronecker(16, 4), 1).unwrap();
    assert_ne!(generator.block(0), generator.block(1));
    assert_ne!(generator.block(0), Generator::new(kronecker(16, 4), 2).unwrap().block(0));
}

#[test]
fn kronecker_degrees_are_as_skewed_as_published() {
    // The largest hub is the vertex numbered 0 before shuffling: an end of an edge is it with probability
    // (a + b)^scale = 0.76^16, so about 26,000 of the 2^21 ends. About 30% of the vertices stay isolated.
    let degrees = degrees(&all_edges(kronecker(16, 16), 1), 1 << 16);
    let isolated = degrees.iter().filter(|&&degree| degree == 0).count() as f64 / degrees.len() as f64;
    assert!((0.2..0.35).contains(&isolated), "{isolated}");
    let largest = *degrees.iter().max().unwrap();
    let expected = 0.76f64.powi(16) * (1u64 << 21) as f64;
    assert!((largest as f64 / expected - 1.0).abs() < 0.03, "{largest} for {expected}");
}

#[test]
fn shuffling_renames_and_nothing_else() {
    let plain = Model::Kronecker(Kronecker::rmat(12, 16, [0.57, 0.19, 0.19]));
    let (mut renamed, mut original) =
        (degrees(&all_edges(kronecker(12, 16), 9), 1 << 12), degrees(&all_edges(plain, 9), 1 << 12));
    assert_eq!(original.iter().max(), original.first(), "unshuffled, vertex 0 is the largest hub");
    assert_ne!(renamed, original);
    renamed.sort_unstable();
    original.sort_unstable();
    assert_eq!(renamed, original);
}

#[test]
fn quadrants_are_drawn_with_their_probabilities() {
    let [a, b, c] = [0.5, 0.3, 0.15];
    let edges = all_edges(Model::Kronecker(Kronecker::rmat(1, 50_000, [a, b, c])), 4);
    let share = |edge: Edge| edges.iter().filter(|&&other| other == edge).count() as f64 / edges.len() as f64;
    for (edge, probability) in [((0, 0), a), ((0, 1), b), ((1, 0), c), ((1, 1), 1.0 - a - b - c)] {
        assert!((share(edge) - probability).abs() < 0.01, "{edge:?}: {}", share(edge));
    }
    let certain = all_edges(Model::Kronecker(Kronecker::rmat(8, 1, [0.0, 1.0, 0.0])), 4);
    assert!(certain.iter().all(|&edge| edge == (0, 255)));
}

#[test]
fn erdos_renyi_is_uniform() {
    let (vertices, count) = (200u64, 400_000u64);
    let edges = all_edges(erdos_renyi(vertices, count), 6);
    for end in [|edge: &Edge| edge.0, |edge: &Edge| edge.1] {
        let mut counts = vec![0u64; vertices as usize];
        edges.iter().for_each(|edge| counts[end(edge) as usize] += 1);
        let expected = count as f64 / vertices as f64;
        let chi_square: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        // 199 degrees of freedom: mean 199, standard deviation 20.
        assert!((120.0..300.0).contains(&chi_square), "{chi_square}");
    }
    let loops = edges.iter().filter(|(src, dst)| src == dst).count() as f64;
    assert!((loops - 2000.0).abs() < 250.0, "ends must be independent: {loops} loops");
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |model| Generator::new(model, 0).err().unwrap();
    assert_eq!(refused(kronecker(MAX_SCALE + 1, 1)), ModelError::Scale { scale: MAX_SCALE + 1 });
    assert!(matches!(refused(kronecker(40, 1 << 30)), ModelError::Edges { .. }));
    assert_eq!(refused(erdos_renyi(0, 0)), ModelError::Vertices { vertices: 0 });
    for bad in [[0.6, 0.3, 0.2], [-0.1, 0.5, 0.5], [f64::NAN, 0.1, 0.1]] {
        let model = Model::Kronecker(Kronecker::rmat(4, 1, bad));
        assert!(matches!(refused(model), ModelError::Probabilities { .. }), "{bad:?}");
    }
    let wide = Generator::new(kronecker(33, 1), 0).unwrap();
    assert_eq!(wide.collect_pairs(), Err(ModelError::TooWide { vertices: 1 << 33 }));
}

#[test]
fn breaking_off_stops_at_once() {
    let generator = Generator::new(erdos_renyi(10, 50 * EDGES_PER_BLOCK), 0).unwrap();
    let mut blocks = 0;
    let ended = generator.for_each_block(|_| {
        blocks += 1;
        if blocks == 3 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!((ended, blocks), (ControlFlow::Break("enough"), 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn counts_and_ranges_hold(
        scale in 0u32..12, edge_factor in 0u64..40, vertices in 1u64..3000, edges in 0u64..200_000, seed: u64,
    ) {
        for model in [kronecker(scale, edge_factor), erdos_renyi(vertices, edges)] {
            let generator = Generator::new(model, seed).unwrap();
            let drawn = all_edges(model, seed);
            prop_assert_eq!(drawn.len() as u64, generator.num_edges());
            let range = 0..generator.num_vertices();
            prop_assert!(drawn.iter().all(|(src, dst)| range.contains(src) && range.contains(dst)));
            prop_assert!(generator.block(generator.num_blocks()).is_empty());
            prop_assert!(generator.block(u64::MAX).is_empty());
        }
    }
}
