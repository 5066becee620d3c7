//! How much room properties of edges take in each list format, and what reading them costs.
//!
//! ```text
//!  payments of a Kronecker graph: at, amount, kind ─► add_edges ─► fast    ─► bytes per entry
//!                                                  └► compact ─► amounts of whole lists, one of each list, in turns
//! ```
//!
//! Entries of both directions have the properties, so that an edge has them twice.

use evergraph::{
    Column, Database, Direction, EdgeBatch, EdgeTypeOptions, KeyKind, ListFormat, Options, Property,
    PropertyId, PropertyType, Version, VertexId,
};
use rayon::prelude::*;

use super::command::Table;
use super::ingest::BATCH;
use super::load::EDGE_TYPE;
use super::report::{Row, Unit};
use super::shuffled::{ShuffledEdges, mix_bits};
use super::timing::{in_turns, time};
use crate::error::CommandError;

const KEYS: KeyKind = KeyKind::Dense;
const REPEATS: usize = 9;
/// Vertices a task works on at a time.
const BLOCK: VertexId = 1 << 12;
/// Microseconds since 1970 of the first payment; one follows every millisecond.
const FIRST: i64 = 1_700_000_000_000_000;
const GAP: i64 = 1_000;
const KINDS: [&str; 6] = ["card", "cash", "cheque", "direct debit", "salary", "transfer"];
/// The position of the amount among the properties.
const AMOUNT: PropertyId = 1;

/// Measures: bytes of both formats, and reading of compact columns beside fast ones.
pub(super) fn measure(edges: &ShuffledEdges, table: &mut Table<'_>) -> Result<(), CommandError> {
    let formats = [ListFormat::Fast, ListFormat::Compact];
    let databases = [payments(edges, formats[0])?, payments(edges, formats[1])?];
    let entries = 2.0 * edges.len() as f64;
    let bytes = databases.each_ref().map(|database| database.stats().memory_bytes as f64 / entries);
    for (format, of_format) in formats.into_iter().zip(bytes) {
        let name = format!("{format}, with three properties");
        table
            .add(vec![beside(Row::new(&name, Unit::BytesPerEdge, of_format, None), of_format / bytes[0])])?;
    }
    let [fast, compact] = databases.each_ref().map(Database::snapshot);
    let (fast, compact) = (fast?, compact?);
    let versions = [fast.store_version(), compact.store_version()];
    for (what, read) in
        [("a property of whole lists", whole_lists as Read), ("of one entry of each list", one_of_each)]
    {
        let sums = versions.map(|version| sum(version, read));
        let timed = |version| time(|| sum(version, read)).0;
        let pair = in_turns::<CommandError>(REPEATS, || Ok(timed(versions[1])), || Ok(timed(versions[0])))?;
        table.add(vec![beside(Row::new(&format!("fast, {what}"), Unit::Seconds, pair.theirs, None), 1.0)])?;
        let row = beside(Row::new(&format!("compact, {what}"), Unit::Seconds, pair.ours, None), pair.ratio);
        table.add(vec![row.agreement(sums[0] == sums[1], format!("sum {}", sums[0]))])?;
    }
    Ok(())
}

/// With how it compares to the fast format.
fn beside(row: Row, ratio: f64) -> Row {
    Row { ratio: Some(ratio), ..row }
}

/// The edges as payments, in memory.
fn payments(edges: &ShuffledEdges, format: ListFormat) -> Result<Database, CommandError> {
    let database =
        Database::in_memory(Options { keys: Some(KEYS), format: Some(format), ..Options::default() });
    let property = |name: &str, kind| Property { name: name.to_owned(), kind };
    let properties = vec![
        property("at", PropertyType::Timestamp),
        property("amount", PropertyType::Int64),
        property("kind", PropertyType::String),
    ];
    database.create_edge_type(EDGE_TYPE, EdgeTypeOptions { properties, ..EdgeTypeOptions::default() })?;
    for start in (0..edges.len()).step_by(BATCH) {
        let rows = start..edges.len().min(start + BATCH);
        let batch = EdgeBatch { columns: columns(rows.clone()), ..edges.batch(rows, KEYS) };
        database.add_edges(EDGE_TYPE, vec![batch])?;
    }
    Ok(database)
}

/// The properties of payments: in the order of time, small amounts more often than large ones.
fn columns(rows: std::ops::Range<usize>) -> Vec<(String, Column)> {
    let (mut at, mut amount, mut kind) = (
        Column::new(PropertyType::Timestamp),
        Column::new(PropertyType::Int64),
        Column::new(PropertyType::String),
    );
    for row in rows {
        let random = mix_bits(row as u64);
        at.push_bits((FIRST + GAP * row as i64) as u64);
        amount.push_bits((random >> 8) % (1 << (random % 18)) + 1);
        kind.push_bytes(KINDS[(random >> 40) as usize % KINDS.len()].as_bytes());
    }
    [("at", at), ("amount", amount), ("kind", kind)].map(|(name, column)| (name.to_owned(), column)).into()
}

/// The sum of some amounts of a vertex's out list.
type Read = fn(&Version, VertexId, &mut Column) -> u64;

fn sum(version: &Version, read: Read) -> u64 {
    let blocks = (0..version.id_bound().div_ceil(BLOCK)).into_par_iter();
    let of_block = |block: VertexId| {
        let mut amounts = Column::new(PropertyType::Int64);
        let vertices = block * BLOCK..((block + 1) * BLOCK).min(version.id_bound());
        vertices.map(|vertex| read(version, vertex, &mut amounts)).fold(0, u64::wrapping_add)
    };
    blocks.map(of_block).reduce(|| 0, u64::wrapping_add)
}

fn whole_lists(version: &Version, vertex: VertexId, amounts: &mut Column) -> u64 {
    version.for_each_run(0, Direction::Out, vertex, |run| {
        run.copy_rows(AMOUNT, 0..run.neighbors().len(), amounts);
    });
    let sum = (0..amounts.len()).map(|row| amounts.cells().bits(row)).sum();
    amounts.clear();
    sum
}

fn one_of_each(version: &Version, vertex: VertexId, _: &mut Column) -> u64 {
    let mut sum = 0;
    version.for_each_run(0, Direction::Out, vertex, |run| {
        let row = mix_bits(vertex.into()) as usize % run.neighbors().len();
        sum += run.column(AMOUNT).and_then(|column| column.bits(row)).unwrap_or(0);
    });
    sum
}
