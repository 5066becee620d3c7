//! Opening stores, and keys as they are written on a command line.

use std::path::Path;

use evergraph::{Database, Key, KeyKind, Options, Snapshot, VertexId};

use crate::error::CommandError;

/// Opens a store to read it; it must be there.
pub(crate) fn open_to_read(path: &Path) -> Result<Database, CommandError> {
    Ok(Database::open(path, Options { read_only: true, ..Options::default() })?)
}

/// Opens a store to write to it; it must be there, and is not made.
pub(crate) fn open_to_write(path: &Path) -> Result<Database, CommandError> {
    if !path.join("MANIFEST").exists() {
        // It says what is there instead.
        open_to_read(path)?.close()?;
    }
    Ok(Database::open(path, Options::default())?)
}

/// The vertex of a key as the command line has it.
pub(crate) fn vertex(snapshot: &Snapshot, text: &str) -> Result<VertexId, CommandError> {
    let no_vertex = || CommandError::NoVertex { key: text.to_owned() };
    let key = match snapshot.schema().key_kind {
        Some(KeyKind::Text) => Key::from(text),
        Some(KeyKind::Dense | KeyKind::Int64) => Key::from(text.parse::<i64>().map_err(|_| no_vertex())?),
        None => return Err(no_vertex()),
    };
    snapshot.vertex_id(&key).ok_or_else(no_vertex)
}
