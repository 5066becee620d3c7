//! A snapshot's edges as text.

use std::io::Write;

use evergraph_load::{ExportError, WriteOptions, write_edges};
use evergraph_view::Snapshot;

/// Writes the edges of a snapshot as text, one a line, and returns how many; some thousands of vertices are held as
/// rows at a time. The columns and their order are those of [`Snapshot::edge_table`].
///
/// # Errors
/// Any [`ExportError`]; what came before it may have been written.
///
/// ```
/// use evergraph::load::WriteOptions;
/// use evergraph::{Database, Options, export};
///
/// let db = Database::in_memory(Options::default());
/// db.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
/// db.put_edge("bob", "carol", "pays", &[])?;
/// let mut text = Vec::new();
/// export(&db.snapshot()?, &mut text, &WriteOptions::default())?;
/// assert_eq!(text, b"src,dst,amount\nalice,bob,10.0\nbob,carol,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(snapshot: &Snapshot, out: &mut dyn Write, options: &WriteOptions) -> Result<u64, ExportError> {
    write_edges(out, snapshot.edge_batches(), options)
}
