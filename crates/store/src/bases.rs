//! Bases: the older manifests from which, with the log behind each, every version kept can be had again.
//!
//! ```text
//!  history/…03e8.manifest   history/…0bb8.manifest   MANIFEST
//!      base, commit 1000        base, commit 3000      commit 5200
//!  log ├───────────────────────┼──────────────────────┼──────────► newest
//!                     ▲ horizon: the oldest version promised
//! ```
//!
//! The manifest that an archive replaces becomes a base; segments that any base names stay. What lies before the
//! newest base that is not younger than the horizon is dropped: base files first, then segments, then the log.
//!
//! Invariant: at every moment, for every commit from the oldest base on, there is a base at or before it whose
//! segments are there, and the log from that base on.

use std::path::{Path, PathBuf};

use evergraph_disk::{Disk, DiskError, write_atomically};
use evergraph_types::Sequence;

use crate::error::OpenError;
use crate::home::{Archived, Home, segment_path};
use crate::manifest::Manifest;
use crate::retain::Retain;

const SUFFIX: &str = ".manifest";

/// Where the older manifests lie.
pub(crate) fn history_directory(directory: &Path) -> PathBuf {
    directory.join("history")
}

fn base_name(sequence: Sequence) -> String {
    format!("{sequence:016x}{SUFFIX}")
}

/// Reads the bases of a store, oldest first. What an archive that did not finish left is no base: the manifest is
/// that commit's.
pub(crate) fn read_bases(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
) -> Result<Vec<Manifest>, OpenError> {
    let history = history_directory(directory);
    let names = match disk.list(&history) {
        Err(DiskError::NotFound { .. }) => Vec::new(),
        names => names?,
    };
    let mut bases = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
        let base = Manifest::read_file(disk, &history.join(name), &manifest.store_id)?;
        if base.sequence < manifest.sequence && *name == base_name(base.sequence) {
            bases.push(base);
        }
    }
    bases.sort_by_key(|base| base.sequence);
    Ok(bases)
}

impl Archived {
    /// The oldest commit whose version can be had.
    pub(crate) fn oldest(&self) -> &Manifest {
        self.bases.first().unwrap_or(&self.manifest)
    }

    /// Puts the manifest that is about to be replaced among the bases.
    pub(crate) fn keep_base(&mut self, home: &Home) -> Result<(), DiskError> {
        let sequence = self.manifest.sequence;
        if self.bases.last().is_some_and(|base| base.sequence == sequence) {
            // From an archive that failed.
            return Ok(());
        }
        let history = history_directory(&home.directory);
        home.disk.create_dir_all(&history)?;
        write_atomically(&*home.disk, &history, &base_name(sequence), &self.manifest.encode())?;
        self.bases.push(self.manifest.clone());
        Ok(())
    }

    /// Drops the bases that have passed the horizon and the segments that nothing names any more.
    pub(crate) fn drop_history(
        &mut self,
        home: &Home,
        newest: Sequence,
        now_micros: i64,
        needed: Sequence,
    ) -> Result<(), DiskError> {
        let is_past = |base: &Manifest| match self.manifest.retain {
            Retain::Nothing => base.sequence <= needed,
            Retain::Commits(commits) => base.sequence <= newest.saturating_sub(commits),
            Retain::Time(time) => {
                let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
                base.time_micros <= now_micros.saturating_sub(micros)
            }
            Retain::Everything => false,
        };
        // The newest base that is past still holds the versions after it that are not.
        let past = self.bases.iter().chain([&self.manifest]).take_while(|base| is_past(base)).count();
        let history = history_directory(&home.directory);
        let mut numbers = Vec::new();
        for _ in 1..past {
            home.disk.remove(&history.join(base_name(self.bases[0].sequence)))?;
            numbers.extend(self.bases.remove(0).segments.iter().map(|entry| entry.number));
        }
        if past > 1 {
            home.disk.sync_dir(&history)?;
        }
        self.remove_unnamed(home, numbers)
    }

    /// Removes those of the segments that nothing names.
    pub(crate) fn remove_unnamed(&self, home: &Home, mut numbers: Vec<u64>) -> Result<(), DiskError> {
        numbers.sort_unstable();
        numbers.dedup();
        let unnamed = numbers.into_iter().filter(|number| !self.names_segment(*number));
        let mut paths = unnamed.map(|number| segment_path(&home.directory, number));
        paths.try_for_each(|path| home.disk.remove(&path))
    }

    /// Whether the manifest or a base names a segment.
    fn names_segment(&self, number: u64) -> bool {
        let mut all = self.bases.iter().chain([&self.manifest]);
        all.any(|manifest| manifest.segments.iter().any(|entry| entry.number == number))
    }
}

/// Removes files of bases that are none: left over from an archive or a removal that did not finish.
pub(crate) fn remove_stale_bases(
    disk: &dyn Disk,
    directory: &Path,
    bases: &[Manifest],
) -> Result<(), DiskError> {
    let history = history_directory(directory);
    let names = match disk.list(&history) {
        Err(DiskError::NotFound { .. }) => return Ok(()),
        names => names?,
    };
    let kept: Vec<String> = bases.iter().map(|base| base_name(base.sequence)).collect();
    for name in names.iter().filter(|name| name.ends_with(SUFFIX) && !kept.contains(name)) {
        disk.remove(&history.join(name))?;
    }
    Ok(())
}
