//! How much room the graph takes, in memory and on disk: bytes per stored edge and direction, vertex tables included.

use std::ffi::OsString;
use std::path::Path;

use evergraph::load::NoProgress;
use evergraph::{Database, KeyKind, Options};

use super::load::request;
use super::report::{Bar, Row, Unit};
use super::resident::growth;
use super::subjects::Subjects;
use crate::error::CommandError;
use crate::load_values::KeysArg;

const BAR: Bar = Bar::Value(8.0);

/// Measures. In memory it is a store without a directory, which maps nothing: what it counts itself, and what its process
/// grows by. On disk it is what the directory holds after a checkpoint.
pub(super) fn measure(
    subjects: &Subjects,
    file: &Path,
    keys: KeysArg,
    program: &[OsString],
) -> Result<Vec<Row>, CommandError> {
    let stored = 2.0 * subjects.yardstick.num_edges() as f64;
    let theirs = subjects.yardstick.out().size_bytes() + subjects.yardstick.incoming().size_bytes();
    let row = |name, bytes: u64, theirs: Option<u64>| {
        let theirs = theirs.map(|bytes| bytes as f64 / stored);
        Row::new(name, Unit::BytesPerEdge, bytes as f64 / stored, theirs).bar(BAR)
    };

    let counted = counted(file, keys)?;
    let mut rows = vec![row("memory, per edge and way", counted, Some(theirs))];
    if let Some(growth) = growth(program, file, keys)? {
        rows.push(row("  as the system sees it", growth, None));
    }
    subjects.loaded.database.checkpoint()?;
    rows.push(row("disk, per edge and way", subjects.loaded.database.stats().disk_bytes, None));
    Ok(rows)
}

/// What a store in memory says that it takes.
fn counted(file: &Path, keys: KeysArg) -> Result<u64, CommandError> {
    let keys = KeyKind::from(keys);
    let database = Database::in_memory(Options { keys: Some(keys), ..Options::default() });
    database.load(file, &request(keys), &NoProgress)?;
    let stats = database.stats();
    Ok(stats.memory_bytes + stats.dictionary_bytes)
}
