//! Lists gathered end to end, in parallel: how a union and a CSR come to be one array.
//!
//! Invariant: list `i` lies at `offsets[i]..offsets[i + 1]`, whatever the number of threads.

use rayon::prelude::*;

/// Fewer values than these are laid end to end sooner by this thread than by handing them to the pool.
pub(crate) const VALUES_FOR_POOL: usize = 1 << 13;

/// Lists that one task copies.
const LISTS_PER_TASK: usize = 1 << 12;

/// Lists laid end to end, and where each begins.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// One more than there are lists, from 0, ascending.
    pub(crate) offsets: Vec<u64>,
    /// The lists.
    pub(crate) values: Vec<u32>,
}

/// Gathers `count` lists: list `i` has `len(i)` values, and `fill(i, list)` writes them.
pub(crate) fn gather(
    count: usize,
    len: impl Fn(usize) -> usize + Sync,
    fill: impl Fn(usize, &mut [u32]) + Sync,
) -> Gathered {
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    offsets.par_extend((0..count).into_par_iter().with_min_len(LISTS_PER_TASK).map(|list| len(list) as u64));
    let mut end = 0;
    for offset in &mut offsets {
        end += *offset;
        *offset = end;
    }
    let mut values = vec![0; end as usize];
    let starts: Vec<usize> = (0..count).step_by(LISTS_PER_TASK).collect();
    let bounds = starts.iter().map(|&start| offsets[(start + LISTS_PER_TASK).min(count)] - offsets[start]);
    let parts = split(&mut values, bounds.map(|len| len as usize));
    starts.into_par_iter().zip(parts).for_each(|(start, mut part)| {
        for list in start..(start + LISTS_PER_TASK).min(count) {
            let (values, rest) = part.split_at_mut((offsets[list + 1] - offsets[list]) as usize);
            fill(list, values);
            part = rest;
        }
    });
    Gathered { offsets, values }
}

/// Fills a whole piece by piece, each from its part: in parallel if there is enough of it.
pub(crate) fn fill_pieces<T: Send, P: Sync>(
    whole: &mut [T],
    parts: &[P],
    len: impl Fn(&P) -> usize,
    fill: impl Fn(&mut [T], &P) + Sync,
) {
    let is_small = whole.len() < VALUES_FOR_POOL;
    let pieces = split(whole, parts.iter().map(len));
    if is_small {
        pieces.into_iter().zip(parts).for_each(|(piece, part)| fill(piece, part));
    } else {
        pieces.into_par_iter().zip(parts).for_each(|(piece, part)| fill(piece, part));
    }
}

/// Cuts a slice into parts of these lengths.
///
/// # Panics
/// If the lengths add up to more than there is.
pub(crate) fn split<T>(mut whole: &mut [T], lens: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let cut = |len| {
        let (part, rest) = std::mem::take(&mut whole).split_at_mut(len);
        whole = rest;
        part
    };
    lens.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_lie_where_the_offsets_say() {
        for count in [0, 1, 4095, 4096, 4097, 10_000] {
            let len = |list: usize| list % 7;
            let gathered = gather(count, len, |list, values| values.fill(list as u32));
            assert_eq!(gathered.offsets.len(), count + 1);
            assert_eq!(gathered.offsets[0], 0);
            for list in 0..count {
                let bounds = gathered.offsets[list] as usize..gathered.offsets[list + 1] as usize;
                assert_eq!(gathered.values[bounds], vec![list as u32; len(list)]);
            }
            assert_eq!(gathered.values.len() as u64, gathered.offsets[count]);
        }
    }
}
