//! Bases: the older manifests from which, with the log behind each, every version kept can be had again.
//!
//! ```text
//!  history/…03e8.manifest   history/…0bb8.manifest   MANIFEST
//!      base, commit 1000        base, commit 3000      commit 5200
//!  log ├───────────────────────┼──────────────────────┼──────────► newest
//!                     ▲ horizon: the oldest version promised
//! ```
//!
//! The manifest that an archive replaces becomes a base, which the next one names; segments that any base names stay. What
//! lies before the newest base that is not younger than the horizon is dropped: the manifest names it no more, then files of
//! bases go, then segments, then the log.
//!
//! Invariant: at every moment, for every commit from the oldest base on, there is a base at or before it whose
//! segments are there, and the log from that base on.

use std::path::{Path, PathBuf};

use evergraph_disk::{Corruption, Disk, DiskError, write_atomically};
use evergraph_types::Sequence;

use crate::error::OpenError;
use crate::files::home::{Archived, Home, segment_path};
use crate::files::manifest::Manifest;
use crate::history::retain::Retain;

const SUFFIX: &str = ".manifest";

/// Where the older manifests lie.
pub(crate) fn history_directory(directory: &Path) -> PathBuf {
    directory.join("history")
}

fn base_name(sequence: Sequence) -> String {
    format!("{sequence:016x}{SUFFIX}")
}

/// Reads the bases of a store, oldest first.
pub(crate) fn read_bases(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
) -> Result<Vec<Manifest>, OpenError> {
    let history = history_directory(directory);
    let read = |sequence: &Sequence| {
        let path = history.join(base_name(*sequence));
        let base = match Manifest::read_file(disk, &path, &manifest.store_id) {
            Err(OpenError::Disk(DiskError::NotFound { .. })) => {
                return Err(Corruption::new(&path, 0, "the file is missing").into());
            }
            read => read?,
        };
        match base.sequence == *sequence {
            true => Ok(base),
            false => Err(Corruption::new(&path, 0, "the file is that of another commit").into()),
        }
    };
    match &manifest.bases {
        Some(named) => named.iter().map(read).collect(),
        None => find_bases(disk, directory, manifest),
    }
}

/// The bases of a store whose manifest does not name them, as before they were named. What an archive that
/// did not finish left is no base: the manifest is that commit's.
fn find_bases(disk: &dyn Disk, directory: &Path, manifest: &Manifest) -> Result<Vec<Manifest>, OpenError> {
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

    /// The bases and the manifest, oldest first.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.bases.iter().chain([&self.manifest])
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

    /// How many of the oldest bases have passed the horizon once the manifest is `next`; versions from commit `needed` on are
    /// needed anyway.
    pub(crate) fn num_past(&self, next: &Manifest, now_micros: i64, needed: Sequence) -> usize {
        let is_past = |base: &Manifest| match next.retain {
            Retain::Nothing => base.sequence <= needed,
            Retain::Commits(commits) => base.sequence <= next.sequence.saturating_sub(commits),
            Retain::Time(time) => {
                let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
                base.time_micros <= now_micros.saturating_sub(micros)
            }
            Retain::Everything => false,
        };
        // The newest base that is past still holds the versions after it that are not.
        self.bases.iter().chain([next]).take_while(|base| is_past(base)).count().saturating_sub(1)
    }

    /// Removes the files of bases that the manifest does not name any more, and the segments that nothing names.
    pub(crate) fn remove_past(&mut self, home: &Home) -> Result<(), DiskError> {
        let past = std::mem::take(&mut self.past);
        if past.is_empty() {
            return Ok(());
        }
        let history = history_directory(&home.directory);
        past.iter().try_for_each(|base| home.disk.remove(&history.join(base_name(base.sequence))))?;
        home.disk.sync_dir(&history)?;
        let segments = past.iter().flat_map(|base| &base.segments);
        self.remove_unnamed(home, segments.map(|entry| entry.number).collect())
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
        let mut all = self.manifests();
        all.any(|manifest| manifest.segments.iter().any(|entry| entry.number == number))
    }
}

/// Removes files of bases that are none: left over from an archive or a removal that did not finish. One that cannot be removed
/// harms nobody.
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
        if let Err(error) = disk.remove(&history.join(name)) {
            tracing::warn!(%error, "a file that was left over could not be removed");
        }
    }
    Ok(())
}
