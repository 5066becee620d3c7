//! The cycle with the fewest reads of what was changed after, in a graph of events.
//!
//! What is in no cycle is peeled off first, so that a history without anomalies costs one pass over its edges.

use std::collections::VecDeque;

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

/// The labels of the edges of a cycle with few edges that count, if there is a cycle.
pub(crate) fn find_cycle(events: usize, edges: &[Edge]) -> Option<Vec<usize>> {
    let mut outgoing: Vec<Vec<&Edge>> = vec![Vec::new(); events];
    edges.iter().for_each(|edge| outgoing[edge.from].push(edge));
    let left = in_cycles(events, edges);
    let mut best: Option<(usize, usize, Vec<usize>)> = None;
    let starts = (0..events).filter(|&event| left[event]);
    for (tried, start) in starts.enumerate() {
        if tried > TRIED && best.is_some() {
            break;
        }
        if let Some(found) = shortest_cycle(start, &outgoing, &left)
            && best.as_ref().is_none_or(|best| (found.0, found.1) < (best.0, best.1))
        {
            best = Some(found);
        }
    }
    best.map(|(_, _, labels)| labels)
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

/// The cycle through an event with the fewest edges that count, then the fewest edges: how many of both, and labels.
fn shortest_cycle(
    start: usize,
    outgoing: &[Vec<&Edge>],
    left: &[bool],
) -> Option<(usize, usize, Vec<usize>)> {
    let mut cost = vec![(usize::MAX, usize::MAX); outgoing.len()];
    let mut reached_by: Vec<Option<&Edge>> = vec![None; outgoing.len()];
    let mut queue = VecDeque::from([(start, (0, 0))]);
    while let Some((event, so_far)) = queue.pop_front() {
        if event == start && reached_by[start].is_some() {
            continue;
        }
        if event != start && so_far > cost[event] {
            continue;
        }
        for edge in outgoing[event].iter().filter(|edge| left[edge.to]) {
            let reached = (so_far.0 + usize::from(edge.counts), so_far.1 + 1);
            if reached < cost[edge.to] {
                cost[edge.to] = reached;
                reached_by[edge.to] = Some(edge);
                match edge.counts {
                    false => queue.push_front((edge.to, reached)),
                    true => queue.push_back((edge.to, reached)),
                }
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
    Some((cost[start].0, cost[start].1, labels))
}
