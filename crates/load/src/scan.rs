//! Looking for bytes eight at a time: fields are too short for vector searches to pay, and too long for a loop over bytes.
//!
//! The method: in `x`, eight bytes as a number, `(x - 0x01…01 * n) & !x & 0x80…80` has the high bit of every byte below `n` set.
//! A borrow can set wrong bits, but only above the first right one, and only the first counts.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The high bits of bytes that are below `bound`, right up to the first of them.
fn below(bytes: u64, bound: u8) -> u64 {
    bytes.wrapping_sub(ONES * u64::from(bound)) & !bytes & HIGH_BITS
}

/// The first place from `at` on where a byte satisfies `wanted`, or the end of the data. `mask` gives the high bit of every
/// byte that may be wanted, right up to the first.
#[inline(always)]
fn find(data: &[u8], at: usize, mask: impl Fn(u64) -> u64, wanted: impl Fn(u8) -> bool) -> usize {
    let mut at = at;
    while let Some(bytes) = data.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let found = mask(u64::from_le_bytes(*bytes));
        if found == 0 {
            at += 8;
            continue;
        }
        at += found.trailing_zeros() as usize / 8;
        if wanted(data[at]) {
            return at;
        }
        at += 1;
    }
    while data.get(at).is_some_and(|byte| !wanted(*byte)) {
        at += 1;
    }
    at
}

/// The first delimiter, carriage return or line feed from `at` on, or the end of the data. Line ends are looked for among all
/// bytes up to them: others of those are rare.
pub(crate) fn find_delimiter(data: &[u8], at: usize, delimiter: u8) -> usize {
    let delimiters = ONES * u64::from(delimiter);
    let mask = |bytes| below(bytes ^ delimiters, 1) | below(bytes, b'\r' + 1);
    find(data, at, mask, |byte| byte == delimiter || matches!(byte, b'\r' | b'\n'))
}

/// The first blank or line end from `at` on, or the end of the data.
pub(crate) fn find_blank(data: &[u8], at: usize) -> usize {
    find(data, at, |bytes| below(bytes, b' ' + 1), |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Whether all bytes are ASCII and none is NUL.
pub(crate) fn is_plain_text(bytes: &[u8]) -> bool {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let odd = |chunk: &[u8; 8]| {
        let bytes = u64::from_le_bytes(*chunk);
        (bytes | bytes.wrapping_sub(ONES)) & HIGH_BITS
    };
    chunks.iter().all(|chunk| odd(chunk) == 0) && rest.iter().all(|byte| matches!(byte, 1..=0x7f))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes near those looked for.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let near =
            proptest::sample::select(b"\0\x01\x08\t\n\x0b\r\x1f !+,-\x7f\x80\x89\x8a\xa0\xac\xff".to_vec());
        proptest::collection::vec(prop_oneof![3 => near, 1 => any::<u8>(), 4 => Just(b'7')], 0..40)
    }

    proptest! {
        #[test]
        fn finds_what_a_loop_finds(bytes in bytes(), at in 0usize..20) {
            let at = at.min(bytes.len());
            let expected = |wanted: &[u8]| {
                bytes[at..].iter().position(|byte| wanted.contains(byte)).map_or(bytes.len(), |found| at + found)
            };
            prop_assert_eq!(find_delimiter(&bytes, at, b','), expected(b",\r\n"));
            prop_assert_eq!(find_blank(&bytes, at), expected(b" \t\r\n"));
            prop_assert_eq!(is_plain_text(&bytes), bytes.iter().all(|byte| (1..128).contains(byte)));
        }
    }
}
