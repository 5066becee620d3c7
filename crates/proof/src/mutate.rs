//! Damage to bytes, as a fuzzer does it: a few of the ways in which input goes wrong, chosen by a seed.

use crate::Random;

/// Bytes with one to eight changes: bits flipped, numbers made extreme, parts left out, repeated, exchanged, or cut
/// off.
///
/// ```
/// use evergraph_proof::{Random, mutate};
///
/// let damaged = |seed| mutate(b"some bytes", &mut Random::new(seed));
/// assert_eq!(damaged(5), damaged(5));
/// assert!((0..20).any(|seed| damaged(seed) != b"some bytes"));
/// ```
pub fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(8) {
        change(&mut bytes, random);
    }
    bytes
}

/// Numbers that limits are mostly wrong at.
const EXTREMES: [u64; 8] =
    [0, 1, u8::MAX as u64, u16::MAX as u64, i32::MAX as u64, u32::MAX as u64, i64::MAX as u64, u64::MAX];

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.len() as u64;
    if length == 0 {
        return bytes.push(random.next() as u8);
    }
    let at = random.below(length) as usize;
    let part = at..at + 1 + random.below((length - at as u64).min(64)) as usize;
    match random.below(9) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next() as u8,
        3 | 4 => {
            let number = EXTREMES[random.below(8) as usize].wrapping_add(random.below(3)).to_le_bytes();
            let width = (1 << random.below(4)).min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        5 => drop(bytes.drain(part)),
        6 => {
            let copy = bytes[part].to_vec();
            let to = random.below(length) as usize;
            bytes.splice(to..to, copy);
        }
        7 => {
            let other = random.below(length) as usize;
            bytes.swap(at, other);
        }
        _ => bytes.truncate(at),
    }
}
