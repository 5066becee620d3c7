//! Other libraries on the same graph, in a Python process that has them. They are no part of the package.
//!
//! ```text
//!  this process                                       rivals.py
//!               ◄── library, kernel, threads ───────  for each library and kernel
//!               ──── run ──────────────────────────►
//!               ◄── seconds ────────────────────────  as often as asked, so that both sides run in turns
//!               ──── next ─────────────────────────►
//! ```

use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, Lines, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::graphs::Task;
use super::kernels::{ITERATIONS, Kernel};
use crate::error::CommandError;

const SCRIPT: &str = include_str!("rivals.py");
/// The largest graph that NetworkX is asked to work on.
pub(super) const NETWORKX_SCALE: u32 = 14;

/// An algorithm of a library, which can be run.
pub(super) struct Rival<'a> {
    pub(super) library: String,
    pub(super) kernel: Kernel,
    pub(super) threads: usize,
    talk: &'a mut Talk,
}

/// What the script is about to measure.
#[derive(Deserialize)]
struct Announcement {
    library: String,
    kernel: String,
    threads: usize,
}

impl Rival<'_> {
    /// The most that ours may take, of their time.
    pub(super) fn most(&self) -> f64 {
        let is_heavy = matches!(self.kernel, Kernel::Pagerank | Kernel::Triangles);
        if self.library == "igraph" && is_heavy { 0.2 } else { 1.0 }
    }

    /// Runs it once; the seconds it took.
    pub(super) fn run(&mut self) -> Result<f64, Error> {
        self.talk.say("run")?;
        self.talk.hear()?.ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))
    }
}

/// Lines to the script and from it.
struct Talk {
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    fn say(&mut self, word: &str) -> Result<(), Error> {
        writeln!(self.to, "{word}")?;
        self.to.flush()
    }

    /// The next line of the script, past any that a library prints; none if the script is at its end.
    fn hear<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        for line in self.from.by_ref() {
            if let Ok(said) = serde_json::from_str(&line?) {
                return Ok(Some(said));
            }
        }
        Ok(None)
    }
}

/// Hands on each algorithm of these libraries, with commas between, that `python` has; which it has not is said on the standard error output.
pub(super) fn for_each(
    (python, libraries): (&Path, &str),
    directory: &Path,
    task: &Task,
    kernels: &[Kernel],
    mut visit: impl FnMut(&mut Rival<'_>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let file = tempfile::NamedTempFile::new_in(directory).map_err(CommandError::file(directory))?;
    write_edges(task, file.as_file()).map_err(CommandError::file(file.path()))?;
    let vertices = task.graph.num_vertices();
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    let sources: Vec<String> = task.sources.iter().map(u32::to_string).collect();
    let mut command = Command::new(python);
    command.arg("-c").arg(SCRIPT).arg(file.path()).args([vertices.to_string(), ITERATIONS.to_string()]);
    command
        .args([rayon::current_num_threads().to_string(), sources.join(","), names.join(",")])
        .arg(libraries);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(CommandError::file(python))?;
    if let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) {
        let mut talk = Talk { to, from: BufReader::new(from).lines() };
        while let Some(next) = talk.hear::<Announcement>().map_err(CommandError::file(python))? {
            if let Ok(kernel) = Kernel::from_str(&next.kernel, true) {
                let Announcement { library, threads, .. } = next;
                visit(&mut Rival { library, kernel, threads, talk: &mut talk })?;
            }
            talk.say("next").map_err(CommandError::file(python))?;
        }
    }
    child.wait().map_err(CommandError::file(python))?;
    Ok(())
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
