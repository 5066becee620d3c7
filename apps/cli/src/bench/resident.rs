//! Resident memory of a loaded graph, measured in a process of its own, whose memory nothing else has grown.
//!
//! ```text
//! this process: growth ──► evergraph bench-memory FILE ──► bytes on its standard output
//! ```
//!
//! The allocator is as it is for everyone. What is left is measured when the store has settled, and so has given back what it freed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use evergraph::load::NoProgress;
use evergraph::{Database, GiveBack, KeyKind, Options};

use super::load::request;
use super::settle::settle;
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
    Ok(output_of(program, &args, rayon::current_num_threads())?.trim().parse().ok())
}

/// Has all threads of this process give back what was freed by now, so that it is not given back between two readings.
pub(super) fn give_back_everywhere() {
    rayon::broadcast(|_| give_back(GiveBack::ToSystem));
    give_back(GiveBack::ToSystem);
}

/// What another process of this program writes that uses so many threads.
pub(super) fn output_of(
    program: &[OsString],
    args: &[OsString],
    threads: usize,
) -> Result<String, CommandError> {
    let Some((name, first)) = program.split_first() else { return Ok(String::new()) };
    let mut command = Command::new(name);
    command.args(first).args(args).env("RAYON_NUM_THREADS", threads.to_string());
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("a process that measures failed: {}", output.status)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the command in the process of its own.
pub(crate) fn measure_memory(args: &MemoryArgs, console: &mut Console) -> Result<(), CommandError> {
    give_back_everywhere();
    let before = resident_bytes();
    let keys = KeyKind::from(args.keys);
    let database = Database::in_memory(Options { keys: Some(keys), ..Options::default() });
    database.load(&args.file, &request(keys), &NoProgress)?;
    settle(&database);
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
