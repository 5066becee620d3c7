//! Text edge lists into pairs: the file is mapped, cut at line ends, and parsed by all threads straight into place.
//!
//! A line is two numbers with blanks, tabs or a comma between; what follows after another separator is ignored, as
//! are empty lines and those that begin with `#` or `%`.
//!
//! Invariant: the pairs come in the order of their lines.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memchr::{memchr, memchr_iter};
use rayon::prelude::*;
use thiserror::Error;

/// Why a file is no edge list.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line that is not two vertex numbers.
    #[error("{}, line {line}: expected two vertex numbers from 0 to {max}", path.display(), max = u32::MAX)]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
}

/// All pairs of a text edge list.
pub fn parse_edge_list(path: impl AsRef<Path>) -> Result<Vec<(u32, u32)>, ParseError> {
    let path = path.as_ref();
    let bytes = map(path).map_err(|source| ParseError::Read { path: path.to_owned(), source })?;
    let bytes = bytes.as_deref().unwrap_or_default();
    parse(bytes).map_err(|offset| ParseError::Line {
        path: path.to_owned(),
        line: 1 + memchr_iter(b'\n', &bytes[..offset]).count() as u64,
    })
}

/// The bytes of a file; `None` if it is empty, which cannot be mapped.
#[expect(unsafe_code)]
fn map(path: &Path) -> io::Result<Option<memmap2::Mmap>> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    // SAFETY: sound while nobody truncates or rewrites the file during the call. Benchmarks own their input files, and
    // the mapping does not outlive `parse_edge_list`.
    unsafe { memmap2::Mmap::map(&file) }.map(Some)
}

const BYTES_PER_CHUNK: usize = 1 << 20;

/// The pairs of all lines, or the offset of a line that is none.
fn parse(bytes: &[u8]) -> Result<Vec<(u32, u32)>, usize> {
    let chunks = cut(bytes);
    let capacities: Vec<usize> = chunks.par_iter().map(|&(_, chunk)| count_lines(chunk)).collect();
    let mut pairs = vec![(0, 0); capacities.iter().sum()];
    let mut places = Vec::with_capacity(chunks.len());
    let mut rest = pairs.as_mut_slice();
    for &capacity in &capacities {
        let (place, after) = rest.split_at_mut(capacity);
        places.push(place);
        rest = after;
    }
    let counts = chunks
        .par_iter()
        .zip(places)
        .map(|(&(start, chunk), place)| parse_chunk(chunk, place).map_err(|offset| start + offset))
        .collect::<Result<Vec<usize>, usize>>()?;
    close_gaps(&mut pairs, &capacities, &counts);
    Ok(pairs)
}

/// Pieces of about [`BYTES_PER_CHUNK`], each with where it starts, that end where lines end.
fn cut(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let least = (start + BYTES_PER_CHUNK).min(bytes.len());
        let end = memchr(b'\n', &bytes[least..]).map_or(bytes.len(), |newline| least + newline + 1);
        chunks.push((start, &bytes[start..end]));
        start = end;
    }
    chunks
}

/// How many lines there are, the last one with or without its end.
fn count_lines(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count() + usize::from(bytes.last().is_some_and(|&last| last != b'\n'))
}

/// Moves the pairs together that comments have left apart.
fn close_gaps(pairs: &mut Vec<(u32, u32)>, capacities: &[usize], counts: &[usize]) {
    let (mut from, mut to) = (0, 0);
    for (capacity, count) in capacities.iter().zip(counts) {
        if from != to {
            pairs.copy_within(from..from + count, to);
        }
        from += capacity;
        to += count;
    }
    pairs.truncate(to);
}

/// Parses whole lines into `place`, which has room for as many; says how many there were, or where one is no pair.
fn parse_chunk(bytes: &[u8], place: &mut [(u32, u32)]) -> Result<usize, usize> {
    let (mut at, mut count) = (0, 0);
    loop {
        at = skip_separators(bytes, at);
        match bytes.get(at) {
            None => return Ok(count),
            Some(b'\n') => at += 1,
            Some(b'#' | b'%' | b'\r') => at = next_line(bytes, at),
            Some(_) => {
                let (pair, end) = parse_pair(bytes, at).ok_or(at)?;
                *place.get_mut(count).ok_or(at)? = pair;
                count += 1;
                at = end;
            }
        }
    }
}

/// The pair that begins at `at`, and where the next line begins.
#[inline]
fn parse_pair(bytes: &[u8], at: usize) -> Option<((u32, u32), usize)> {
    let (src, at) = parse_number(bytes, at)?;
    let next = skip_separators(bytes, at);
    if next == at {
        return None;
    }
    let (dst, at) = parse_number(bytes, next)?;
    match bytes.get(at) {
        Some(b'\n') => Some(((src, dst), at + 1)),
        None | Some(b'\r' | b' ' | b'\t' | b',') => Some(((src, dst), next_line(bytes, at))),
        Some(_) => None,
    }
}

#[inline]
fn skip_separators(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b',') = bytes.get(at) {
        at += 1;
    }
    at
}

fn next_line(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1)
}

/// The decimal number that begins at `at`, and where it ends.
#[inline]
fn parse_number(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let (mut value, digits) = match bytes.get(at..at + 8).and_then(|word| word.try_into().ok()) {
        Some(word) => leading_digits(u64::from_le_bytes(word)),
        None => (0, 0),
    };
    let mut end = at + digits;
    if digits == 0 || digits == 8 {
        while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
            value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
            end += 1;
        }
    }
    if end == at { None } else { Some((u32::try_from(value).ok()?, end)) }
}

/// The number that the first digits among 8 bytes make, and how many they are, without a loop: non-digits are found
/// in all bytes at once, the digits are pushed to the end, and neighbors are joined in pairs, fours, eight.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    let digits = word ^ 0x3030_3030_3030_3030;
    // A byte of 10 or more reaches its top bit when 0x76 is added; carries spoil only bytes after the first such.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    let digits = digits << (64 - 8 * count);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    let eight = (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF;
    (eight, count as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_blanks_separators_and_extra_columns_are_passed_over() {
        let text = b"# a\n% b\n\n1 2\n3\t4\r\n  5,6 , 0.5 # c\n\r\n4294967295 0000000000000000\n 12345678\t123456789";
        let expected = [(1, 2), (3, 4), (5, 6), (u32::MAX, 0), (12_345_678, 123_456_789)];
        assert_eq!(parse(text), Ok(expected.to_vec()));
        assert_eq!(parse(b""), Ok(vec![]));
        assert_eq!(parse(b"# only a comment"), Ok(vec![]));
    }

    #[test]
    fn a_bad_line_is_named() {
        let bad = [
            "1",
            "1 ",
            "a b",
            "1 b",
            "1 2x",
            "1-2",
            "-1 2",
            "4294967296 1",
            "1 99999999999999999999999",
            "1 \x002",
            "1.5 2",
        ];
        for bad in bad {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("# head\n1 2\n{bad}\n3 4\n")).unwrap();
            match parse_edge_list(file.path()) {
                Err(ParseError::Line { line: 3, .. }) => {}
                other => panic!("{bad:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn an_empty_file_has_no_pairs_and_a_missing_one_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(parse_edge_list(file.path()).unwrap(), []);
        assert!(matches!(parse_edge_list("/no/such/file"), Err(ParseError::Read { .. })));
    }

    #[test]
    fn lines_across_chunks_keep_their_order() {
        let expected: Vec<(u32, u32)> = (0..400_000).map(|i: u32| (i, i.wrapping_mul(0x9E37_79B9))).collect();
        let line = |&(src, dst): &(u32, u32)| match src % 7 {
            0 => format!("# comment\n{src} {dst}\n"),
            _ => format!("{src} {dst}\n"),
        };
        let text: String = expected.iter().map(line).collect();
        assert!(text.len() > 5 * BYTES_PER_CHUNK);
        assert_eq!(parse(text.as_bytes()), Ok(expected));
    }

    proptest! {
        #[test]
        fn every_number_and_width_parses_back(pairs in prop::collection::vec((0u32.., 0u32..33, any::<u32>()), 0..50)) {
            let pairs: Vec<(u32, u32)> = pairs.iter().map(|&(src, shift, dst)| (src, dst.checked_shr(shift).unwrap_or(0))).collect();
            let text: Vec<String> = pairs.iter().map(|(src, dst)| format!("{src} {dst}")).collect();
            prop_assert_eq!(parse(text.join("\n").as_bytes()), Ok(pairs));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(prop::sample::select(b"0123456789 \t\r\n,#%-a\0\xFF".to_vec()), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
