//! Other libraries on the same graph, in a Python process that has them. They are no part of the package.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde::Deserialize;

use super::graphs::Task;
use super::kernels::{ITERATIONS, Kernel};
use crate::error::CommandError;

const SCRIPT: &str = include_str!("rivals.py");
/// The most vertices that NetworkX is asked to work on.
const NETWORKX_VERTICES: usize = 1 << 14;

/// The time that a library took.
pub(super) struct Rival {
    pub(super) library: String,
    pub(super) kernel: Kernel,
    pub(super) threads: usize,
    pub(super) seconds: f64,
}

/// A line of the script's output.
#[derive(Deserialize)]
struct Line {
    library: String,
    kernel: String,
    threads: usize,
    seconds: f64,
}

impl Rival {
    /// The most that ours may take, of their time.
    pub(super) fn most(&self) -> f64 {
        let is_heavy = matches!(self.kernel, Kernel::Pagerank | Kernel::Triangles);
        if self.library == "igraph" && is_heavy { 0.2 } else { 1.0 }
    }
}

/// Runs the algorithms in the libraries that `python` has; says which it has not on the standard error output.
pub(super) fn measure(
    python: &Path,
    directory: &Path,
    task: &Task,
    kernels: &[Kernel],
) -> Result<Vec<Rival>, CommandError> {
    let file = tempfile::NamedTempFile::new_in(directory).map_err(CommandError::file(directory))?;
    write_edges(task, file.as_file()).map_err(CommandError::file(file.path()))?;
    let vertices = task.graph.num_vertices();
    let networkx = if vertices <= NETWORKX_VERTICES { "networkx" } else { "" };
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    let sources: Vec<String> = task.sources.iter().map(u32::to_string).collect();
    let mut command = Command::new(python);
    command.arg("-c").arg(SCRIPT).arg(file.path()).args([vertices.to_string(), ITERATIONS.to_string()]);
    command
        .args([rayon::current_num_threads().to_string(), sources.join(","), names.join(",")])
        .arg(networkx);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(CommandError::file(python))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let rivals = lines.filter_map(|line| {
        let kernel = Kernel::from_str(&line.kernel, true).ok()?;
        Some(Rival { library: line.library, kernel, threads: line.threads, seconds: line.seconds })
    });
    Ok(rivals.collect())
}

/// Each edge once: both ends and the length, in 32 bits each.
fn write_edges(task: &Task, file: &std::fs::File) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    for src in 0..task.graph.num_vertices() as u32 {
        for &(dst, length) in task.lengths.edges(src).iter().filter(|&&(dst, _)| dst > src) {
            [src, dst, length].iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))?;
        }
    }
    file.flush()
}
