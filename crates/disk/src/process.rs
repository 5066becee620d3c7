//! Which process this is, of those that `fork` has made of one.
//!
//! ```text
//!  parent ─┬───────────────────────────► its files, its locks, its threads
//!          └ fork ─► child               a copy of the memory, the files open as well, none of the threads
//! ```
//!
//! So in a child, what the parent opened is not to be written, given back or removed, and whoever waits for one of the parent's
//! threads waits for ever. `fork` itself says that it has happened, so that asking takes as long as reading a number.
//!
//! Invariant: processes that have an object in common, one of which made the other, have different numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often this process, and those it comes from, were forked from another.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The process that an object belongs to.
///
/// ```
/// use evergraph_disk::Process;
///
/// assert!(Process::here().is_here());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    forks: usize,
}

impl Process {
    /// The process that this is called in.
    pub fn here() -> Self {
        Process { forks: forks() }
    }

    /// Whether it is the one that this is called in.
    #[inline]
    pub fn is_here(self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    /// Whether it was forked from one that had begun to use this crate.
    pub fn is_forked(self) -> bool {
        self.forks > 0
    }
}

impl Default for Process {
    fn default() -> Self {
        Process::here()
    }
}

/// A value that each process makes for itself, as threads are.
#[derive(Debug)]
pub struct PerProcess<T> {
    value: OnceLock<T>,
    /// Where a child has its own; the parent may have been about to set `value`.
    in_child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    /// Nothing yet, in any process.
    pub const fn new() -> Self {
        PerProcess { value: OnceLock::new(), in_child: OnceLock::new() }
    }

    /// The value of this process, made if there is none.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.here().value.get_or_init(make)
    }

    /// The value of this process, if there is one.
    pub fn get(&self) -> Option<&T> {
        self.here().value.get()
    }

    fn here(&self) -> &Self {
        (0..forks()).fold(self, |place, _| place.in_child.get_or_init(Box::default))
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

fn forks() -> usize {
    #[cfg(all(unix, not(miri)))]
    count_forks();
    FORKS.load(Ordering::Relaxed)
}

/// Has every fork from now on counted, in the child.
#[cfg(all(unix, not(miri)))]
fn count_forks() {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    static COUNTED: OnceLock<()> = OnceLock::new();
    COUNTED.get_or_init(|| {
        // SAFETY: what is called in the child adds to a number, which may be done there; the function is never unloaded,
        // for the list of them belongs to the library it is in. It fails for want of memory only; forks are then not seen.
        #[expect(unsafe_code)]
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child))
        };
    });
}
