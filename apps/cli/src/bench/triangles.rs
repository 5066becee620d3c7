//! Triangles of the symmetrized graph, counted once on both sides.

use std::path::Path;

use evergraph::algorithms::{self, Control};
use evergraph::load::NoProgress;
use evergraph::{Database, GraphView, KeyKind, Options};
use evergraph_yardstick::{self as yardstick, Graph, parse_edge_list};

use super::load::{declare, request};
use super::report::{Bar, Row};
use super::timing::{in_turns, time};
use crate::error::CommandError;

/// Measures.
pub(super) fn measure(file: &Path, keys: KeyKind) -> Result<Vec<Row>, CommandError> {
    let database = Database::in_memory(Options { keys: Some(keys), ..Options::default() });
    declare(&database, true, false)?;
    database.load(file, &request(keys), &NoProgress)?;
    let flat = database.snapshot()?.flat();
    let graph = Graph::undirected(&parse_edge_list(file)?)?;
    let (mut ours, mut theirs) = (0, 0);
    let pair = in_turns::<CommandError>(
        1,
        || {
            let (seconds, count) = time(|| algorithms::triangle_count(&*flat, &Control::new()));
            ours = count?;
            Ok(seconds)
        },
        || {
            let (seconds, count) = time(|| yardstick::triangles(&graph));
            theirs = count;
            Ok(seconds)
        },
    )?;
    let same = ours == theirs;
    let what = if same { format!("{ours} triangles") } else { format!("{ours} and {theirs} triangles") };
    Ok(vec![Row::times("triangles, symmetrized", pair).bar(Bar::Ratio(1.5)).agreement(same, what)])
}
