//! Choosing one of the disks that a loss of power may leave.
//!
//! Assumed, as most databases do: a write that fails within a sector leaves the synced bytes of that sector alone.

use std::ops::Range;

use super::random::Random;
use super::state::{Content, Names, Safety, State};

/// The unit a disk writes whole or not at all, in bytes.
const SECTOR: u64 = 512;

/// What becomes of everything that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPlan {
    /// All of it is lost.
    LoseUnsynced,
    /// All of it survives, as when only the process dies.
    KeepUnsynced,
    /// Each piece meets a fate that follows from the seed.
    Random(u64),
}

impl CrashPlan {
    pub(super) fn seed(self) -> u64 {
        match self {
            CrashPlan::LoseUnsynced | CrashPlan::KeepUnsynced => 0,
            CrashPlan::Random(seed) => seed,
        }
    }
}

/// The state after the crash; everything in it is durable.
pub(super) fn crash(state: &State, plan: CrashPlan) -> State {
    let mut random = Random::new(plan.seed());
    let names = surviving_names(state, plan, &mut random);
    let named = names
        .into_iter()
        .map(|(path, file)| (path, surviving_content(state.content(file), plan, &mut random)));
    State::durable(state.directories().clone(), named)
}

fn surviving_names(state: &State, plan: CrashPlan, random: &mut Random) -> Names {
    let mut names = state.durable_names().clone();
    for change in state.pending() {
        let happened = match plan {
            CrashPlan::LoseUnsynced => false,
            CrashPlan::KeepUnsynced => true,
            CrashPlan::Random(_) => random.below(2) == 0,
        };
        if happened {
            change.apply(&mut names);
        }
    }
    names
}

fn surviving_content(content: &Content, plan: CrashPlan, random: &mut Random) -> Content {
    let chunks = content.chunks();
    let safe = chunks.iter().take_while(|chunk| chunk.safety == Safety::Synced).count();
    if safe == chunks.len() || plan == CrashPlan::KeepUnsynced {
        return Content::synced(chunks, Vec::new());
    }
    // The synced chunks in front are shared; all behind them is made anew.
    let start: u64 = chunks[..safe].iter().map(|chunk| chunk.bytes().len() as u64).sum();
    let mut tail = Vec::with_capacity((content.len() - start) as usize);
    let mut unsafe_ranges = Vec::new();
    // What must survive reaches to the end of the last synced chunk.
    let mut synced_end = 0;
    for chunk in &chunks[safe..] {
        let begin = tail.len();
        tail.extend_from_slice(chunk.bytes());
        match chunk.safety {
            Safety::Synced => synced_end = tail.len(),
            Safety::Unsynced | Safety::Dropped => unsafe_ranges.push(begin..tail.len()),
        }
    }
    let length = match plan {
        CrashPlan::Random(_) => surviving_length(synced_end, tail.len(), random),
        _ => synced_end,
    };
    // Half of the random crashes write in order and so only cut the tail; the others lose sectors here and there.
    let loses_sectors = plan == CrashPlan::LoseUnsynced || random.below(2) == 0;
    if loses_sectors {
        let written = tail.clone();
        for range in unsafe_ranges {
            for sector in sectors(start, range) {
                let fate = if plan == CrashPlan::LoseUnsynced { Fate::Zeros } else { Fate::choose(random) };
                fate.befall(&mut tail[sector], &written, random);
            }
        }
    }
    tail.truncate(length);
    Content::synced(&chunks[..safe], tail)
}

fn surviving_length(least: usize, most: usize, random: &mut Random) -> usize {
    match random.below(4) {
        0 => least,
        1 => most,
        _ => least + random.below((most - least) as u64 + 1) as usize,
    }
}

/// The parts of `range`, counted from `start` in the file, that lie in one sector each.
fn sectors(start: u64, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut begin = range.start;
    std::iter::from_fn(move || {
        if begin >= range.end {
            return None;
        }
        let to_boundary = (SECTOR - (start + begin as u64) % SECTOR) as usize;
        let sector = begin..range.end.min(begin + to_boundary);
        begin = sector.end;
        Some(sector)
    })
}

/// What becomes of the unsynced part of a sector.
enum Fate {
    Written,
    Zeros,
    Noise,
    /// The bytes of another place: a block that was reused.
    Stale,
}

impl Fate {
    fn choose(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Fate::Zeros,
            1 => Fate::Noise,
            2 => Fate::Stale,
            _ => Fate::Written,
        }
    }

    fn befall(self, sector: &mut [u8], written: &[u8], random: &mut Random) {
        match self {
            Fate::Written => {}
            Fate::Zeros => sector.fill(0),
            Fate::Noise => sector.iter_mut().for_each(|byte| *byte = random.next() as u8),
            Fate::Stale => {
                let from = random.below((written.len() - sector.len()) as u64 + 1) as usize;
                sector.copy_from_slice(&written[from..from + sector.len()]);
            }
        }
    }
}
