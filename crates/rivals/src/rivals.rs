//! Which rivals this build has.

use std::path::Path;

use crate::{Fault, LinkStore};

/// Opens every rival that was built in, each empty in a directory of its own below `directory`; with `sync`, a request
/// that writes is on disk when it returns.
///
/// # Errors
/// Those of the rival that cannot be opened.
#[cfg_attr(
    not(any(feature = "lmdb", feature = "rocksdb", feature = "sqlite")),
    expect(unused_variables, reason = "there is no rival in this build")
)]
pub fn rivals(directory: &Path, sync: bool) -> Result<Vec<Box<dyn LinkStore>>, Fault> {
    Ok(vec![
        #[cfg(feature = "lmdb")]
        Box::new(crate::lmdb::Lmdb::open(&directory.join("lmdb"), sync)?),
        #[cfg(feature = "rocksdb")]
        Box::new(crate::rocks::Rocks::open(&directory.join("rocksdb"), sync)?),
        #[cfg(feature = "sqlite")]
        Box::new(crate::sqlite::Sqlite::open(&directory.join("sqlite"), sync)?),
    ])
}
