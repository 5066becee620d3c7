//! A control group of Linux that bounds the memory of a process: its heap and what the system holds of the files it
//! reads, together.
//!
//! ```text
//!  new(limit) ─► directory of a group ─► enter(directory), by the process itself ─► the group goes when it is dropped
//! ```
//!
//! To make one is the right of the system's administrator. Both hierarchies of Linux are served: the unified one, and
//! before it the one of memory alone.
//!
//! Invariant: the group has no process left when it is dropped, since the process that entered it was waited for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where groups are, and the file that bounds one: in the hierarchy of memory alone and in the unified one.
const HIERARCHIES: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// A group with a bound.
#[derive(Debug)]
pub(super) struct ControlGroup {
    directory: PathBuf,
}

impl ControlGroup {
    /// A group that may have so many bytes; an error where this process may not make one.
    pub(super) fn new(limit_bytes: u64) -> io::Result<Self> {
        let (root, limit) =
            if Path::new(HIERARCHIES[0].0).is_dir() { HIERARCHIES[0] } else { HIERARCHIES[1] };
        let directory = Path::new(root).join(format!("evergraph-bench-{}", std::process::id()));
        fs::create_dir(&directory)?;
        let group = ControlGroup { directory };
        write(&group.directory.join(limit), limit_bytes)?;
        Ok(group)
    }

    /// Where a process enters it.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // What cannot be removed is an empty group, which bounds nobody.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// This process is in the group from now on, with all its threads.
pub(super) fn enter(directory: &Path) -> io::Result<()> {
    write(&directory.join("cgroup.procs"), u64::from(std::process::id()))
}

/// A file of a group takes a number, and is never made.
fn write(path: &Path, number: u64) -> io::Result<()> {
    use io::Write;
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(number.to_string().as_bytes())
}
