//! Asking the system for lists that are not in memory before a pass comes to them, and giving them back behind it.
//!
//! ```text
//!  pieces  0 ........ 8 ........ 16 ........ 24 ........ 32
//!          [ given back ][ done    ][ at 16 ][ on their way, one request to a piece ]
//! ```
//!
//! A pass that reads most lists asks for few: the system reads what is missing two megabytes at a time once it is looked
//! at ([`Reads::Most`]), which costs it an eighth of what fetching page by page does, and, where memory has room for it,
//! the next two megabytes meanwhile.
//!
//! What was read comes again with the next pass only, when a memory that is smaller than the graph would have lost it
//! anyway: giving it back leaves the room to what is on its way.
//!
//! Threads pass over the pieces from several places on (LLAMA's n parallel sequential scans; Macko et al., ICDE 2015,
//! section 4.3), and where one goes on is where work was stolen from: each asks ahead of itself.
//!
//! Invariant: nothing is asked for where lists are in memory anyway ([`FlatTable::is_cold`]), and asking changes no
//! result.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use evergraph_types::VertexId;
use evergraph_view::{FlatTable, ListPass, Reads};

/// So many pieces are on their way, some megabytes for each thread, and so many are given back at once.
const PIECES: usize = 8;

/// What was asked for in one pass.
pub(crate) struct FetchAhead<'a> {
    pass: ListPass<'a>,
    asked: Vec<AtomicBool>,
}

impl<'a> FetchAhead<'a> {
    /// For a pass over so many pieces; nothing if all lists are in memory.
    pub(crate) fn new(table: &'a FlatTable, pieces: usize, reads: Reads) -> Option<Self> {
        let asked = || (0..pieces).map(|_| AtomicBool::new(false)).collect();
        table.is_cold().then(|| FetchAhead { pass: table.pass(reads), asked: asked() })
    }

    /// Work begins on a piece. `vertices` gives those of any piece, and `wants` whether the list of one will be read.
    pub(crate) fn at<I: Iterator<Item = VertexId>>(
        &self,
        piece: usize,
        vertices: impl Fn(usize) -> I,
        wants: impl Fn(VertexId) -> bool,
    ) {
        for piece in piece..self.asked.len().min(piece + 1 + PIECES) {
            if !self.asked[piece].load(Relaxed) && !self.asked[piece].swap(true, Relaxed) {
                self.pass.will_need(vertices(piece).filter(|&vertex| wants(vertex)));
            }
        }
        if piece.is_multiple_of(PIECES) && piece >= 2 * PIECES {
            self.pass.release((piece - 2 * PIECES..piece - PIECES).flat_map(vertices));
        }
    }
}
