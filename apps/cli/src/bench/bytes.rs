//! How much room the graph takes, in memory and on disk: bytes per stored edge and direction, vertex tables included.

use std::path::Path;

use evergraph::load::NoProgress;
use evergraph::{Database, KeyKind, Options};

use super::load::request;
use super::report::{Bar, Row, Unit};
use super::subjects::Subjects;
use crate::error::CommandError;

const BAR: Bar = Bar::Value(8.0);

/// Measures. In memory it is a store without a directory, which maps nothing; on disk it is what the directory holds
/// after a checkpoint.
pub(super) fn measure(subjects: &Subjects, file: &Path, keys: KeyKind) -> Result<Vec<Row>, CommandError> {
    let stored = 2.0 * subjects.yardstick.num_edges() as f64;
    let theirs = subjects.yardstick.out().size_bytes() + subjects.yardstick.incoming().size_bytes();
    let theirs = theirs as f64 / stored;

    let in_memory = Database::in_memory(Options { keys: Some(keys), ..Options::default() });
    in_memory.load(file, &request(keys), &NoProgress)?;
    let stats = in_memory.stats();
    let memory = (stats.memory_bytes + stats.dictionary_bytes) as f64 / stored;
    drop(in_memory);

    subjects.loaded.database.checkpoint()?;
    let disk = subjects.loaded.database.stats().disk_bytes as f64 / stored;
    Ok(vec![
        Row::new("memory, per edge and way", Unit::BytesPerEdge, memory, Some(theirs)).bar(BAR),
        Row::new("disk, per edge and way", Unit::BytesPerEdge, disk, None).bar(BAR),
    ])
}
