//! How far a load is, as one number: it reads the file to find out types, reads it again, and commits what it has read.
//!
//! ```text
//!  done:  ├─ bytes surveyed ─┤├─ bytes read ─┤├─ bytes of these that are committed ─┤     total: as many times the file
//! ```
//!
//! Invariant: parts that wait for what comes before them count nothing.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use evergraph_load::Progress;

/// Each byte of the file is read and committed.
const PHASES: u64 = 2;

/// The course of a load.
pub(crate) struct Course<'a> {
    progress: &'a dyn Progress,
    /// How often each byte counts.
    phases: u64,
    /// The bytes of the file, once they are known.
    file_bytes: AtomicU64,
    surveyed: AtomicU64,
    read: AtomicU64,
    /// How far it was read when it was last committed.
    committed: AtomicU64,
    /// Of the bytes read since, those that the commit under way is done with.
    committing: AtomicU64,
    /// Whether it was told to stop, be it when nobody asked.
    is_stopped: AtomicBool,
}

/// What a phase tells how far it is.
pub(crate) struct Phase<'a>(&'a Course<'a>, fn(&Course<'a>, u64, Option<u64>));

impl<'a> Course<'a> {
    /// Nothing is done; `surveys` tells whether the file is read for its types first.
    pub(crate) fn new(progress: &'a dyn Progress, surveys: bool) -> Self {
        let [file_bytes, surveyed, read, committed, committing] = [const { AtomicU64::new(0) }; 5];
        let phases = PHASES + u64::from(surveys);
        let is_stopped = AtomicBool::new(false);
        Course { progress, phases, file_bytes, surveyed, read, committed, committing, is_stopped }
    }

    /// What the survey tells how far it is.
    pub(crate) fn surveying(&'a self) -> Phase<'a> {
        Phase(self, |course, done, total| {
            course.file_bytes.store(total.unwrap_or(0), Relaxed);
            course.surveyed.store(done, Relaxed);
        })
    }

    /// What reading tells how far it is, after the survey if there is one.
    pub(crate) fn reading(&'a self) -> Phase<'a> {
        Phase(self, |course, done, total| {
            let file_bytes = total.unwrap_or(0);
            course.file_bytes.store(file_bytes, Relaxed);
            course.surveyed.store((course.phases - PHASES) * file_bytes, Relaxed);
            course.read.store(done, Relaxed);
        })
    }

    /// What a commit of all that was read tells how far it is.
    pub(crate) fn committing(&'a self) -> Phase<'a> {
        Phase(self, |course, done, total| {
            let bytes = course.read.load(Relaxed).saturating_sub(course.committed.load(Relaxed));
            let share = done as f64 / total.unwrap_or(0).max(done).max(1) as f64;
            course.committing.store((bytes as f64 * share) as u64, Relaxed);
        })
    }

    /// Tells that all that was read is committed. What is said to that counts when there is more to do.
    pub(crate) fn note_commit(&self) {
        self.committed.store(self.read.load(Relaxed), Relaxed);
        self.committing.store(0, Relaxed);
        let _ = self.tell();
    }

    fn tell(&self) -> ControlFlow<()> {
        let counts = [&self.surveyed, &self.read, &self.committed, &self.committing];
        let done = counts.iter().map(|count| count.load(Relaxed)).sum();
        let total = self.phases * self.file_bytes.load(Relaxed);
        if self.progress.update(done, Some(total).filter(|total| *total > 0)).is_break() {
            self.is_stopped.store(true, Relaxed);
        }
        if self.is_stopped.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Progress for Phase<'_> {
    fn update(&self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let Phase(course, note) = self;
        note(course, done, total);
        course.tell()
    }
}
