//! Running the program, in a directory of the test's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Done { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A directory to run commands in.
pub(crate) struct Shell {
    directory: TempDir,
}

impl Shell {
    pub(crate) fn new() -> Self {
        Shell { directory: tempfile::tempdir().unwrap() }
    }

    /// With a file.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// With a store, loaded from a file of edges that comes with it.
    pub(crate) fn store(self, name: &str, edges: &str) -> Self {
        let shell = self.file("edges.csv", edges);
        assert_eq!(shell.run(&["load", name, "edges.csv"]).code, 0);
        shell
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        Self::done(&mut self.command(arguments))
    }

    /// Where no file can grow beyond 64 KiB, and writing more is an error, as on a disk that is full.
    pub(crate) fn with_small_files(&self, arguments: &[&str]) -> Done {
        let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_evergraph")]).args(arguments);
        Self::done(command.current_dir(self.directory.path()).stdin(Stdio::null()))
    }

    /// Asked to end this long after the file appears. Not by Ctrl-C, which a program that runs in the background ignores.
    pub(crate) fn stop(&self, arguments: &[&str], appears: &str, later: Duration) -> Done {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !self.path(appears).exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(later);
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        child.wait_with_output().unwrap().into()
    }

    fn done(command: &mut Command) -> Done {
        command.output().unwrap().into()
    }

    /// The output of a command that is done without a word to people.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let done = self.run(arguments);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        assert_eq!(done.stdout.lines().count(), 1, "{done:?}");
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// The message of a command that fails with this exit code and gives no output.
    pub(crate) fn refused(&self, arguments: &[&str], code: i32) -> String {
        let done = self.run(arguments);
        assert_eq!((done.code, done.stdout.as_str()), (code, ""), "{done:?}");
        assert!(!done.stderr.contains("panicked"), "{done:?}");
        done.stderr
    }
}

/// A graph of the test data.
pub(crate) fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    path.to_str().unwrap().to_owned()
}
