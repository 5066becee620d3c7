//! Replacing a small file as a whole.

use std::path::Path;

use crate::{Disk, DiskError};

/// Writes `name` in `directory` so that after a loss of power at any instant it holds either what it held before
/// or all of `bytes`; durable when it returns. Passes through `name.tmp`, which a crash may leave behind and the
/// next call replaces.
pub fn write_atomically(
    disk: &dyn Disk,
    directory: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<(), DiskError> {
    let target = directory.join(name);
    let temporary = directory.join(format!("{name}.tmp"));
    if disk.len(&temporary)?.is_some() {
        disk.remove(&temporary)?;
    }
    let mut file = disk.create(&temporary)?;
    file.append(bytes)?;
    // Before the rename: a name must never show bytes that are not on disk yet.
    file.sync()?;
    disk.rename(&temporary, &target)?;
    disk.sync_dir(directory)
}
