//! How a store is opened.

use std::fmt;
use std::time::Duration;

use evergraph_log::LogOptions;
use evergraph_types::KeyKind;

use crate::history::retain::Retain;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once it is on disk: it survives a loss of power.
    #[default]
    Sync,
    /// Once it is written to the log: it survives the process, and a loss of power after at most the interval.
    Interval,
    /// Once it is written to the log, which is synced only as it grows: what was written last is lost with the power.
    None,
}

impl Durability {
    /// The name users write: `sync`, `interval`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Sync => "sync",
            Durability::Interval => "interval",
            Durability::None => "none",
        }
    }

    /// The mode of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [Durability::Sync, Durability::Interval, Durability::None]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How neighbor lists are kept in memory and in segments. Either can be read whatever the store is set to; what is written,
/// is written in the format set, so that a store changes from one to the other list by list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListFormat {
    /// As they are, four bytes to a neighbor: read at the speed of memory.
    #[default]
    Fast,
    /// In as few bits as the differences between neighbors need: half the memory or less, decoded while they are read.
    Compact,
}

impl ListFormat {
    /// The name users write: `fast`, `compact`.
    pub fn name(self) -> &'static str {
        match self {
            ListFormat::Fast => "fast",
            ListFormat::Compact => "compact",
        }
    }

    /// The format of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        [ListFormat::Fast, ListFormat::Compact].into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for ListFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How to open a store. Start from `Options::default()`.
#[derive(Clone, Debug)]
pub struct Options {
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// With [`Durability::Interval`], the longest a commit stays unsynced.
    pub interval: Duration,
    /// Refuse every write; any number of processes may have the store open this way at once.
    pub read_only: bool,
    /// Refuse writes and loads that would declare a type or a property by being the first to use it: only what was declared
    /// (`create_edge_type`, `create_vertex_type`, [`Alteration::AddProperty`](evergraph_types::Alteration)) may be used.
    pub strict: bool,
    /// The kind of vertex keys of a new store; by default that of the first key.
    pub keys: Option<KeyKind>,
    /// Archive to disk whenever what is in memory only takes more than half of this many bytes; bulk loads that take more
    /// than a part of it go through files, and segments larger than it are read with this in mind. Vertex tables and the
    /// dictionary are not bounded by it. Of a load of a text file, an eighth of it is text on its way, and as much again the edges in that,
    /// but no less than 256 KiB of text for each thread. 1.5 M edges of 200,000 vertices took 25 MB in all with a limit of 8 MiB, on two
    /// threads.
    pub memory_limit_bytes: Option<u64>,
    /// Archive whenever the log has grown to this many bytes: it bounds how long recovery takes.
    pub log_limit_bytes: u64,
    /// While a batch of at least this many edges is added others commit, and in a store on disk it goes straight to a segment
    /// instead of through the log; unless that is kept, for history or for readers. Those that are large under the limit on
    /// memory go to a segment however many edges they have, and where the log is kept they are in it, too.
    pub bulk_edges: usize,
    /// How much history to keep, from now on; `None` leaves that as the store has it, for a new one nothing.
    pub retain: Option<Retain>,
    /// How neighbor lists are written from now on; `None` leaves that as the store has it, a new one is fast.
    pub format: Option<ListFormat>,
    /// Sync and archive, or bring lists together in a store in memory, on a thread of the store. Without it that happens only
    /// when asked for.
    pub background: bool,
}

impl Options {
    /// How the log is kept: in files small enough for trimming to keep it near its limit. Where commits are not synced one by one, room is
    /// made beside them, and, if they are ahead of that, page by page.
    pub(crate) fn log_options(&self) -> LogOptions {
        let file_bytes = self.log_limit_bytes / 4;
        let LogOptions { room_bytes, step_bytes, beside_bytes, .. } = match self.durability {
            Durability::Sync => LogOptions::default(),
            Durability::Interval | Durability::None => {
                let beside_bytes = if self.background { 256 << 10 } else { 0 };
                LogOptions { file_bytes, room_bytes: 64 << 10, step_bytes: 4 << 10, beside_bytes }
            }
        };
        let (room_bytes, beside_bytes) = (room_bytes.min(file_bytes / 4), beside_bytes.min(file_bytes / 4));
        LogOptions { file_bytes, room_bytes, step_bytes: step_bytes.min(room_bytes / 4 * 3), beside_bytes }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            durability: Durability::Sync,
            interval: Duration::from_millis(50),
            read_only: false,
            strict: false,
            keys: None,
            memory_limit_bytes: None,
            log_limit_bytes: 128 << 20,
            bulk_edges: 1 << 20,
            retain: None,
            format: None,
            background: true,
        }
    }
}
