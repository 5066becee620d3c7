//! Giving what a store holds, and what is committed to it from then on by other processes.
//!
//! Invariant: the store is opened only when its files have changed, or while it is locked, and left alone in between.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use evergraph::OpenError;

use crate::error::CommandError;

/// Whether to go on.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FollowArgs {
    /// Wait for further commits; other processes make them while this one does not have the store open
    #[arg(long)]
    follow: bool,
    /// With --follow: end when nothing came for so many seconds
    #[arg(long, value_name = "SECONDS", requires = "follow")]
    timeout: Option<u64>,
}

/// How often to look whether there is something new.
const POLL: Duration = Duration::from_millis(200);

impl FollowArgs {
    /// Calls `give` with the version after which to begin; it tells up to which it has come.
    pub(crate) fn run(
        self,
        database: &Path,
        mut after: Option<u64>,
        mut give: impl FnMut(Option<u64>) -> Result<u64, CommandError>,
    ) -> Result<(), CommandError> {
        let mut silent_since = Instant::now();
        loop {
            let seen = Files::of(database);
            let mut is_locked = false;
            match give(after) {
                Ok(through) => {
                    if after.replace(through) != Some(through) {
                        silent_since = Instant::now();
                    }
                }
                // Somebody writes, and closes the store again; the files may have changed for the last time.
                Err(CommandError::Open(OpenError::Locked(_))) if self.follow => is_locked = true,
                Err(error) => return Err(error),
            }
            if !self.follow {
                return Ok(());
            }
            let is_over =
                || self.timeout.is_some_and(|seconds| silent_since.elapsed() >= Duration::from_secs(seconds));
            loop {
                if is_over() {
                    return Ok(());
                }
                std::thread::sleep(POLL);
                if is_locked || Files::of(database) != seen {
                    break;
                }
            }
        }
    }
}

/// Names and lengths of the files that commits change, to tell that there are some.
#[derive(PartialEq)]
struct Files(Vec<(PathBuf, u64, Option<SystemTime>)>);

impl Files {
    fn of(database: &Path) -> Self {
        let log = std::fs::read_dir(database.join("log")).ok().into_iter().flatten();
        let log = log.filter_map(|entry| Some(entry.ok()?.path()));
        let facts = log.chain([database.join("MANIFEST")]).filter_map(|path| {
            let facts = std::fs::metadata(&path).ok()?;
            Some((path, facts.len(), facts.modified().ok()))
        });
        let mut facts: Vec<_> = facts.collect();
        facts.sort();
        Files(facts)
    }
}
