//! One life of a writer process, from its start to the proof that nothing is lost.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use evergraph::{Database, Options};

use super::{CrashError, states};

/// A writer process that is to be killed.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The command, with its first arguments, that starts the command line.
    pub program: &'a [OsString],
    /// The store; what is there from earlier trials is gone on with.
    pub directory: &'a Path,
    /// How many threads commit.
    pub writers: u64,
    /// More arguments of the writer.
    pub options: &'a [&'a str],
    /// When it is killed.
    pub fuse: Fuse,
}

/// When a writer process is killed.
#[derive(Clone, Copy, Debug)]
pub enum Fuse {
    /// So long after it was started, whatever it is doing.
    FromStart(Duration),
    /// So long after its first acknowledgement.
    FromFirstAcknowledgement(Duration),
}

/// What a kill left.
#[derive(Debug)]
pub struct Outcome {
    /// Transactions acknowledged by each writer, those of earlier trials included if it acknowledged any in this one.
    pub acknowledged: Vec<u64>,
    /// Transactions found of each writer after recovery.
    pub found: Vec<u64>,
    /// How long recovery took, in seconds.
    pub recovery_seconds: f64,
    /// The version that was recovered.
    pub version: u64,
}

impl Trial<'_> {
    /// Starts the writer, kills it, opens the store and looks whether everything acknowledged is there, whole.
    /// `watch` learns the number of acknowledgements now and then.
    pub fn run(&self, watch: impl FnMut(u64)) -> Result<Outcome, CrashError> {
        let acknowledged = self.kill(watch)?;
        let start = Instant::now();
        let database = Database::open(self.directory, Options::default())?;
        let recovery_seconds = start.elapsed().as_secs_f64();
        let snapshot = database.snapshot()?;
        let found = states(&snapshot, self.writers)?;
        for ((writer, &found), &acknowledged) in (0..).zip(&found).zip(&acknowledged) {
            if found < acknowledged {
                return Err(CrashError::Lost { writer, acknowledged, found });
            }
        }
        Ok(Outcome { acknowledged, found, recovery_seconds, version: snapshot.version() })
    }

    /// How many transactions each writer had acknowledged when it died.
    fn kill(&self, watch: impl FnMut(u64)) -> Result<Vec<u64>, CrashError> {
        let start = Instant::now();
        let mut child = self.start()?;
        let (sender, acknowledgements) = channel();
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(std::io::Error::other("its output is not there").into());
        };
        let writers = self.writers as usize;
        thread::scope(|scope| {
            let reader = scope.spawn(move || read(BufReader::new(stdout), writers, &sender));
            let ended = wait(self.fuse, start, &acknowledgements, watch);
            child.kill()?;
            let status = child.wait()?;
            let counts = reader.join().unwrap_or_default();
            if ended {
                let mut message = String::new();
                stderr.read_to_string(&mut message)?;
                return Err(CrashError::Ended {
                    status: status.to_string(),
                    message: message.trim().to_owned(),
                });
            }
            Ok(counts)
        })
    }

    fn start(&self) -> Result<Child, CrashError> {
        let Some((program, first)) = self.program.split_first() else {
            return Err(std::io::Error::other("no program was named").into());
        };
        let mut command = Command::new(program);
        command.args(first).arg("demo-writer").arg(self.directory);
        command.args(["--writers", &self.writers.to_string()]).args(self.options);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }
}

/// Waits until the fuse has burnt down; true if the writer has closed its output before.
fn wait(fuse: Fuse, start: Instant, acknowledgements: &Receiver<()>, mut watch: impl FnMut(u64)) -> bool {
    let mut deadline = match fuse {
        Fuse::FromStart(delay) => Some(start + delay),
        Fuse::FromFirstAcknowledgement(_) => None,
    };
    let mut count = 0;
    loop {
        let patience = match deadline {
            Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                Some(left) => left,
                None => return false,
            },
            None => Duration::from_secs(60),
        };
        match acknowledgements.recv_timeout(patience) {
            Ok(()) => {
                count += 1;
                watch(count);
                if let (None, Fuse::FromFirstAcknowledgement(delay)) = (deadline, fuse) {
                    deadline = Some(Instant::now() + delay);
                }
            }
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

/// Reads acknowledgements to the end: how many transactions each writer has. A line that the kill cut off was not said.
fn read(mut lines: impl BufRead, writers: usize, sender: &Sender<()>) -> Vec<u64> {
    let mut counts = vec![0; writers];
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
        let whole = line.strip_suffix('\n').and_then(|text| text.split_once(' '));
        let numbers = whole.and_then(|(writer, number)| Some((writer.parse().ok()?, number.parse().ok()?)));
        if let Some((writer, number)) = numbers
            && let Some(count) = counts.get_mut::<usize>(writer)
        {
            let number: u64 = number;
            *count = number + 1;
            // Whoever waits may have seen enough.
            let _ = sender.send(());
        }
        line.clear();
    }
    counts
}
