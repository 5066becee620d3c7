//! What the files of a store are used for.
//!
//! The directory is looked at whenever somebody asks, so that no file is missed. A segment that was removed while it is still
//! mapped has no name any more, but the system keeps its room until the last version that reaches it is let go of.
//!
//! Invariant: the parts add up to [`DiskUse::total_bytes`], and each file is in one part.

use std::path::Path;

use evergraph_disk::Disk;
use hashbrown::HashSet;

use crate::files::home::{Home, lock_path, log_directory, segment_directory};
use crate::files::manifest::MANIFEST;
use crate::history::bases::history_directory;
use crate::history::cursors::cursor_directory;
use crate::versions::version::Version;

/// Bytes on disk by purpose; of a store without files that keeps history, in the memory that stands for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskUse {
    /// Records of the log.
    pub log_bytes: u64,
    /// Room behind them, made ahead for the next ones.
    pub log_room_bytes: u64,
    /// Segments that the newest version reaches.
    pub segment_bytes: u64,
    /// Segments and older manifests that only versions of the past need.
    pub history_bytes: u64,
    /// Segments that were merged away, which versions that somebody holds still reach.
    pub removed_bytes: u64,
    /// Files of loads and archives that are under way.
    pub under_way_bytes: u64,
    /// The manifest, and the places of named readers.
    pub other_bytes: u64,
}

impl DiskUse {
    /// All parts together.
    pub fn total_bytes(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The parts by name, in the order of their fields.
    pub fn parts(&self) -> [(&'static str, u64); 7] {
        [
            ("log", self.log_bytes),
            ("log room", self.log_room_bytes),
            ("segments", self.segment_bytes),
            ("history", self.history_bytes),
            ("removed", self.removed_bytes),
            ("under way", self.under_way_bytes),
            ("other", self.other_bytes),
        ]
    }

    /// The files of a store whose newest version is this one and whose log has so many bytes.
    pub(crate) fn of(home: &Home, version: &Version, log_bytes: u64) -> Self {
        let sizes = |directory: &Path| sizes(&*home.disk, directory);
        let sum = |directory: &Path| sizes(directory).iter().map(|(_, bytes)| bytes).sum::<u64>();
        let root = &home.directory;
        let [manifest, lock] =
            [root.join(MANIFEST), lock_path(root)].map(|path| home.disk.len(&path).ok().flatten());
        let mut used = DiskUse {
            log_bytes,
            log_room_bytes: sum(&log_directory(root)).saturating_sub(log_bytes),
            history_bytes: sum(&history_directory(root)),
            other_bytes: sum(&cursor_directory(root)) + manifest.unwrap_or(0) + lock.unwrap_or(0),
            ..DiskUse::default()
        };
        let name_of = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let reached: HashSet<String> =
            version.segments.iter().filter_map(|segment| name_of(segment.path())).collect();
        let newest = reached.iter().max();
        let files = sizes(&segment_directory(root));
        for (name, bytes) in &files {
            let part = if reached.contains(name) {
                &mut used.segment_bytes
            } else if name.ends_with(".segment") && newest.is_some_and(|newest| name < newest) {
                &mut used.history_bytes
            } else {
                // Names are numbers, and ascend.
                &mut used.under_way_bytes
            };
            *part += bytes;
        }
        let mut named: HashSet<String> = files.into_iter().map(|(name, _)| name).collect();
        for segment in home.open_segments() {
            if name_of(segment.path()).is_some_and(|name| named.insert(name)) {
                used.removed_bytes += segment.bytes();
            }
        }
        used
    }
}

/// The files in a directory and their lengths; none if it cannot be read.
fn sizes(disk: &dyn Disk, directory: &Path) -> Vec<(String, u64)> {
    let names = disk.list(directory).unwrap_or_default();
    let size = |name: String| Some((disk.len(&directory.join(&name)).ok()??, name));
    names.into_iter().filter_map(size).map(|(bytes, name)| (name, bytes)).collect()
}
