//! What long runs went through, counted over all test programs of a run.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that counts are added to.
const FILE: &str = "EVERGRAPH_TALLY";

/// Adds to a count of the run: a line in the file that `EVERGRAPH_TALLY` names, which `make soak` sums up. Counts
/// nothing where it names none.
///
/// # Panics
/// If the file cannot be written to: a summary must not lack what was done.
pub fn tally(what: &str, count: u64) {
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write, so that programs side by side do not mix their lines.
    let written = file.and_then(|mut file| file.write_all(format!("{count}\t{what}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("the tally cannot be kept: {error}"));
}
