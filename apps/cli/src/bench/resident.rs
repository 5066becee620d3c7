//! Resident memory of a loaded graph, measured in a process of its own, whose memory nothing else has grown.
//!
//! ```text
//! this process: growth ──► MIMALLOC_PURGE_DELAY=0 evergraph bench-memory FILE ──► bytes on its standard output
//! ```
//!
//! Without a purge delay the allocator gives back what it frees, so that what is left is what the graph takes.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use evergraph::load::NoProgress;
use evergraph::{Database, GiveBack, KeyKind, Options};

use super::load::request;
use crate::allocator::give_back;
use crate::console::Console;
use crate::error::CommandError;
use crate::load_values::KeysArg;

/// What the process is told.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// The graph
    file: PathBuf,
    /// The kind of keys
    #[arg(long, value_enum)]
    keys: KeysArg,
}

/// By how many bytes a process grows that loads a graph into memory; none where the system does not tell.
pub(super) fn growth(program: &[OsString], file: &Path, keys: KeysArg) -> Result<Option<u64>, CommandError> {
    let keys = keys.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let args = ["bench-memory".into(), file.as_os_str().to_owned(), "--keys".into(), keys.into()];
    Ok(output_of(program, &args, &giving_back())?.trim().parse().ok())
}

/// What has a process use as many threads as this one, and give freed memory back at once.
pub(super) fn giving_back() -> [(&'static str, String); 2] {
    [
        ("MIMALLOC_PURGE_DELAY", "0".to_owned()),
        ("RAYON_NUM_THREADS", rayon::current_num_threads().to_string()),
    ]
}

/// What another process of this program writes, with these variables in its environment.
pub(super) fn output_of(
    program: &[OsString],
    args: &[OsString],
    variables: &[(&str, String)],
) -> Result<String, CommandError> {
    let Some((name, first)) = program.split_first() else { return Ok(String::new()) };
    let mut command = Command::new(name);
    command.args(first).args(args).envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("a process that measures failed: {}", output.status)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the command in the process of its own.
pub(crate) fn measure_memory(args: &MemoryArgs, console: &mut Console) -> Result<(), CommandError> {
    // What the program has freed by now is not to be given back between the two readings.
    give_back(GiveBack::ToSystem);
    let before = resident_bytes();
    let keys = KeyKind::from(args.keys);
    let database = Database::in_memory(Options { keys: Some(keys), ..Options::default() });
    database.load(&args.file, &request(keys), &NoProgress)?;
    let growth = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    console.line(growth.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string()))
}

/// Memory of this process that no file backs.
pub(super) fn resident_bytes() -> Option<u64> {
    status_bytes("RssAnon:")
}

/// The most memory this process had, that of its program included.
pub(super) fn peak_resident_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
