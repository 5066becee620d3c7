//! The third act: a process of its own writes, dies by SIGKILL in mid-stream, and nothing it acknowledged is lost.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::story::Story;
use crate::crash::{Fuse, Trial};
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

const WRITERS: u64 = 8;
const LIFE: Duration = Duration::from_millis(2_000);

/// What came out.
#[derive(Serialize)]
pub(super) struct Report {
    writers: u64,
    acknowledged: u64,
    found: u64,
    lost: u64,
    /// Whether every checksum and invariant holds afterwards.
    sound: bool,
    recovery_seconds: f64,
}

impl Report {
    /// Whether the promise was kept.
    pub(super) fn nothing_is_lost(&self) -> bool {
        self.lost == 0 && self.sound
    }
}

/// Plays it.
pub(super) fn play(
    story: &mut Story,
    directory: &Path,
    program: &[OsString],
) -> Result<Report, CommandError> {
    story.heading("3  Kill it")?;
    story.say(format_args!(
        "A process of its own commits from {WRITERS} threads and says so after each commit. After {} it is\n\
         killed (SIGKILL) in mid-stream, and the store is opened again.",
        units::seconds(LIFE.as_secs_f64()),
    ))?;
    story.pause()?;
    let directory = directory.join("killed.eg");
    let trial = Trial {
        program,
        directory: &directory,
        writers: WRITERS,
        options: &[],
        fuse: Fuse::FromFirstAcknowledgement(LIFE),
    };
    let outcome = {
        let activity = Activity::new("writing");
        trial.run(|acknowledged| activity.say(format!("{} acknowledged", units::count(acknowledged))))?
    };
    let sound = evergraph::check(&directory)?.is_healthy();
    // Each writer's transactions are there up to some number, whole, or the trial would have failed.
    let report = Report {
        writers: WRITERS,
        acknowledged: outcome.acknowledged.iter().sum(),
        found: outcome.found.iter().sum(),
        lost: outcome
            .acknowledged
            .iter()
            .zip(&outcome.found)
            .map(|(said, found)| said.saturating_sub(*found))
            .sum(),
        sound,
        recovery_seconds: outcome.recovery_seconds,
    };
    let more = report.found - report.acknowledged;
    let facts = [
        ("acknowledged", report.acknowledged, "transactions: two edges each, some with deletes".to_owned()),
        ("found", report.found, format!("after recovery in {}", units::seconds(report.recovery_seconds))),
        ("cut short", more, "were on disk, and the kill came before they said so".to_owned()),
        ("lost", report.lost, "and none is there in part: edges of both directions were compared".to_owned()),
    ];
    for (name, count, remark) in facts {
        story.say(format_args!("{name:<12}  {:>9}  {remark}", units::count(count)))?;
    }
    let verdict = if sound { "every checksum and invariant holds" } else { "DAMAGED" };
    story.say(format_args!("{:<12}  {:>9}  {verdict}", "check", ""))?;
    Ok(report)
}
