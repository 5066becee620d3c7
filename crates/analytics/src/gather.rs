//! Sums over neighbor lists of what is known of each neighbor: the inner loop of every algorithm that pulls numbers.
//!
//! What it waits for is memory. Within a long list the processor sees the next neighbors coming by itself, but it guesses
//! wrong where short lists end and then has to begin anew, so what is some way ahead is asked for explicitly. On a
//! Kronecker graph of 2^20 vertices that makes an iteration of PageRank take 0.75 of the time.
//!
//! Invariant: numbers are added in the order of the list, whatever pieces it lies in, unless it is a hub's.

use evergraph_view::Neighbors;
use rayon::prelude::*;

use crate::prefetch::prefetch_place;
use crate::ranges::{HUB_DEGREE, split_list};

/// The sum of what `number` makes of the value of each neighbor.
///
/// # Panics
/// If a neighbor has no value.
#[inline]
pub(crate) fn sum_over<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    match list.hinted() {
        Some(hinted) if list.len() < HUB_DEGREE => hinted.fold(0.0, |sum, (neighbor, hint)| {
            prefetch_place(values, hint);
            sum + number(&values[neighbor as usize])
        }),
        _ => sum_over_pieces(list, values, number),
    }
}

/// By itself, so that the sum of a list in one piece stays in a register.
#[inline(never)]
fn sum_over_pieces<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    if list.len() >= HUB_DEGREE {
        return sum_over_hub(list, values, number);
    }
    let mut sum = 0.0;
    list.for_each_ahead(|neighbor, hint| {
        sum += number(&values[neighbor as usize]);
        prefetch_place(values, hint);
    });
    sum
}

/// Piece by piece, in parallel.
fn sum_over_hub<T: Sync>(list: Neighbors<'_>, values: &[T], number: impl Fn(&T) -> f64 + Sync) -> f64 {
    let sum_piece = |piece: &Neighbors<'_>| {
        let mut sum = 0.0;
        piece.for_each_slice(|slice| {
            sum = slice.iter().fold(sum, |sum, &neighbor| sum + number(&values[neighbor as usize]));
        });
        sum
    };
    split_list(list).par_iter().map(sum_piece).collect::<Vec<f64>>().iter().sum()
}
