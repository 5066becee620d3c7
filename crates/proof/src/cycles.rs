//! The cycle with the fewest reads of what was changed after, in a graph of events.
//!
//! What is in no cycle is peeled off first, so that a history without anomalies costs one pass over its edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An edge between events, with the number of the dependency it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Whether it counts: cycles with fewer such edges are the worse ones.
    pub(crate) counts: bool,
    pub(crate) label: usize,
}

/// How many events of those in cycles are tried as the start of a better cycle than the first found.
const TRIED: usize = 200;

/// What a way through the graph costs: how many of its edges count, and then how many there are.
type Cost = (usize, usize);

/// The labels of the edges of a cycle with few edges that count, if there is a cycle.
pub(crate) fn find_cycle(events: usize, edges: &[Edge]) -> Option<Vec<usize>> {
    let mut outgoing: Vec<Vec<&Edge>> = vec![Vec::new(); events];
    edges.iter().for_each(|edge| outgoing[edge.from].push(edge));
    let left = in_cycles(events, edges);
    let (mut cost, mut best) = ((usize::MAX, usize::MAX), None);
    let starts = (0..events).filter(|&event| left[event]);
    for (tried, start) in starts.enumerate() {
        if tried > TRIED && best.is_some() {
            break;
        }
        if let Some((less, labels)) = shortest_cycle(start, &outgoing, &left, cost) {
            (cost, best) = (less, Some(labels));
        }
    }
    best
}

/// Events that are in cycles, or between two of them.
fn in_cycles(events: usize, edges: &[Edge]) -> Vec<bool> {
    let mut left = vec![true; events];
    for is_reversed in [false, true] {
        let ends = |edge: &Edge| if is_reversed { (edge.to, edge.from) } else { (edge.from, edge.to) };
        let (mut next, mut incoming) = (vec![Vec::new(); events], vec![0usize; events]);
        for (from, to) in edges.iter().map(ends).filter(|&(from, to)| left[from] && left[to]) {
            next[from].push(to);
            incoming[to] += 1;
        }
        let mut free: Vec<usize> = (0..events).filter(|&event| left[event] && incoming[event] == 0).collect();
        while let Some(event) = free.pop() {
            left[event] = false;
            for &to in &next[event] {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    free.push(to);
                }
            }
        }
    }
    left
}

/// The cheapest cycle through an event, what it costs and its labels, if it costs less than `bound`; what costs as much is not looked at.
fn shortest_cycle(
    start: usize,
    outgoing: &[Vec<&Edge>],
    left: &[bool],
    bound: Cost,
) -> Option<(Cost, Vec<usize>)> {
    let mut cost = vec![bound; outgoing.len()];
    let mut reached_by: Vec<Option<&Edge>> = vec![None; outgoing.len()];
    let mut queue = BinaryHeap::from([Reverse(((0, 0), start))]);
    while let Some(Reverse((so_far, event))) = queue.pop() {
        if so_far > cost[event] {
            continue;
        }
        if event == start && reached_by[start].is_some() {
            break;
        }
        for edge in outgoing[event].iter().filter(|edge| left[edge.to]) {
            let reached = (so_far.0 + usize::from(edge.counts), so_far.1 + 1);
            if reached < cost[edge.to] {
                cost[edge.to] = reached;
                reached_by[edge.to] = Some(edge);
                queue.push(Reverse((reached, edge.to)));
            }
        }
    }
    reached_by[start]?;
    let (mut labels, mut event) = (Vec::new(), start);
    while let Some(edge) = reached_by[event] {
        labels.push(edge.label);
        event = edge.from;
        if event == start {
            break;
        }
    }
    labels.reverse();
    Some((cost[start], labels))
}
