//! Real kills: a writer process dies by SIGKILL at any instant, and nothing that it acknowledged is lost. The short run
//! is part of every test run; the long one (`make soak`) kills two hundred times.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use evergraph_cli::crash::{Fuse, Outcome, Trial};
use evergraph_proof::tally;

/// What a writer is started with, in turns: every mode acknowledges once the log is written, which outlives a process.
const OPTIONS: [&[&str]; 4] = [
    &["--durability", "sync"],
    &["--durability", "sync", "--checkpoint-milliseconds", "20"],
    &["--durability", "interval", "--checkpoint-milliseconds", "70"],
    &["--durability", "none"],
];
const WRITERS: u64 = 4;
/// So many kills hit the same store before a new one is begun.
const LIVES: usize = 10;

#[test]
fn a_few_kills_lose_nothing() {
    let acknowledged = kill_again_and_again(8, 1);
    assert!(acknowledged > 0, "nothing was acknowledged, so nothing was proved");
}

#[test]
#[ignore = "takes minutes: make soak"]
fn soak_two_hundred_kills_lose_nothing() {
    let acknowledged = kill_again_and_again(200, 2);
    assert!(acknowledged > 10_000, "only {acknowledged} transactions were acknowledged");
    tally("kills of a writer", 200);
    tally("transactions acknowledged before kills", acknowledged);
}

/// Kills at random times; how many transactions were acknowledged in all.
fn kill_again_and_again(kills: usize, seed: u64) -> u64 {
    let program = [OsString::from(env!("CARGO_BIN_EXE_evergraph"))];
    let mut random = Random(seed);
    let mut total = 0;
    for (round, count) in (0..kills).step_by(LIVES).map(|from| LIVES.min(kills - from)).enumerate() {
        let stage = tempfile::tempdir().unwrap();
        let directory = stage.path().join("killed.eg");
        let mut acknowledged = vec![0; WRITERS as usize];
        for life in 0..count {
            let options = OPTIONS[(round + life) % OPTIONS.len()];
            // Every fourth kill may come while the store opens.
            let delay = Duration::from_micros(1_000 + random.next() % 250_000);
            let fuse =
                if life % 4 == 3 { Fuse::FromStart(delay) } else { Fuse::FromFirstAcknowledgement(delay) };
            let trial = Trial { program: &program, directory: &directory, writers: WRITERS, options, fuse };
            let outcome = trial
                .run(|_| ())
                .unwrap_or_else(|error| panic!("kill {life} of round {round}, {options:?}: {error}"));
            remember(&mut acknowledged, &outcome, round, life);
        }
        check(&directory);
        total += acknowledged.iter().sum::<u64>();
    }
    total
}

/// What one life acknowledged, all later ones must find.
fn remember(acknowledged: &mut [u64], outcome: &Outcome, round: usize, life: usize) {
    for (writer, known) in acknowledged.iter_mut().enumerate() {
        *known = (*known).max(outcome.acknowledged[writer]);
        let found = outcome.found[writer];
        assert!(found >= *known, "kill {life} of round {round}: writer {writer} lost {}", *known - found);
    }
}

fn check(directory: &Path) {
    let report = evergraph::check(directory).unwrap();
    assert!(report.is_healthy(), "{:?}", report.problems);
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
