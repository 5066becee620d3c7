//! Whether there is memory for arrays with an item for each vertex id, before any is made: ids of dense keys are the keys, so one large key makes every
//! such array long, and the system ends a program that takes more than there is.
//!
//! Invariant: nobody is refused what fits, so not all that does not fit is refused; where the system does not tell what is free, nobody is refused.

use thiserror::Error;

/// Fewer ids are not worth a look at what is free.
const FEW_IDS: u64 = 1 << 27;

/// What an id takes at the least: a number, and what tells whether there is a vertex. Most algorithms take more.
const BYTES_PER_ID: u64 = 8;

/// There is no memory for arrays with an item for each vertex id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "arrays for {ids} vertex ids take {} of memory, and {} are free; ids of dense keys are the keys themselves, so that one large key is enough \
     for this: keep such keys as int64, or free memory",
    gibibytes(*needed_bytes), gibibytes(*free_bytes)
)]
pub struct NoRoom {
    /// One more than the largest id.
    pub ids: u64,
    /// What arrays for these take at the least.
    pub needed_bytes: u64,
    /// What is free.
    pub free_bytes: u64,
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

/// Refuses arrays for so many ids if these are many, and the system says that their memory is not free.
///
/// # Errors
/// [`NoRoom`] if it is not.
pub fn room_for_ids(ids: u64) -> Result<(), NoRoom> {
    if ids < FEW_IDS {
        return Ok(());
    }
    check(ids, free_bytes())
}

fn check(ids: u64, free_bytes: Option<u64>) -> Result<(), NoRoom> {
    let needed_bytes = BYTES_PER_ID * ids;
    match free_bytes.filter(|&free_bytes| free_bytes < needed_bytes) {
        Some(free_bytes) => Err(NoRoom { ids, needed_bytes, free_bytes }),
        None => Ok(()),
    }
}

/// What a program can still take, as Linux tells it.
fn free_bytes() -> Option<u64> {
    available(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let ids = 4_000_000_001;
        let free_bytes = available("MemTotal:       24683520 kB\nMemAvailable:   24338456 kB\n");
        assert_eq!(free_bytes, Some(24_338_456 << 10));
        let refused = check(ids, free_bytes).expect_err("32 GB");
        assert_eq!(refused, NoRoom { ids, needed_bytes: 8 * ids, free_bytes: 24_338_456 << 10 });
        assert!(refused.to_string().starts_with(
            "arrays for 4000000001 vertex ids take 29.8 GiB of memory, and 23.2 GiB are free; ids of dense"
        ));
        assert_eq!(check(ids, Some(8 * ids)), Ok(()));
    }

    #[test]
    fn where_nothing_is_told_nobody_is_refused() {
        for told in
            ["", "MemAvailable: much", "MemAvailable: 12 pages", "MemAvailable: 99999999999999999999 kB"]
        {
            assert_eq!(available(told), None);
        }
        assert_eq!(check(u64::from(u32::MAX), None), Ok(()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_what_is_free() {
        assert!(free_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
