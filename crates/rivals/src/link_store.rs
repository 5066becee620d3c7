//! What a store of nodes and links must be able to do to take part.
//!
//! Invariant: every store answers the same; `Newest` decides for all of them which links are the newest.

use std::cmp::Reverse;

/// Whatever went wrong in a store.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The payload of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// When it was written, in microseconds.
    pub time: i64,
    /// How often it was written.
    pub version: i64,
    /// About 128 bytes.
    pub data: String,
}

/// A link to `dst`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node it leads to.
    pub dst: u64,
    /// When it was written, in microseconds.
    pub time: i64,
    /// How often it was written.
    pub version: i64,
    /// Whether it is shown.
    pub visible: bool,
    /// About 8 bytes.
    pub data: String,
}

/// A store on disk.
pub trait LinkStore: Send + Sync {
    /// How it is called in the table.
    fn name(&self) -> &'static str;

    /// Puts nodes and links in bulk, sorted by source, kind and destination.
    ///
    /// # Errors
    /// Those of the store.
    fn load(
        &self,
        nodes: &mut dyn Iterator<Item = (u64, Node)>,
        links: &mut dyn Iterator<Item = (u64, u8, Link)>,
    ) -> Result<(), Fault>;

    /// What one thread works with.
    ///
    /// # Errors
    /// Those of the store.
    fn session(&self) -> Result<Box<dyn LinkSession + '_>, Fault>;
}

/// The requests of one thread. Each is a transaction of its own.
pub trait LinkSession {
    /// A node's payload.
    ///
    /// # Errors
    /// Those of the store, as of all these requests.
    fn node(&mut self, id: u64) -> Result<Option<Node>, Fault>;

    /// Puts a node or replaces its payload.
    ///
    /// # Errors
    /// Those of the store.
    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault>;

    /// Takes a node's payload away; its links stay.
    ///
    /// # Errors
    /// Those of the store.
    fn delete_node(&mut self, id: u64) -> Result<(), Fault>;

    /// One link.
    ///
    /// # Errors
    /// Those of the store.
    fn link(&mut self, src: u64, kind: u8, dst: u64) -> Result<Option<Link>, Fault>;

    /// Puts a link or replaces it.
    ///
    /// # Errors
    /// Those of the store.
    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault>;

    /// Deletes a link, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault>;

    /// How many links of a kind leave a node.
    ///
    /// # Errors
    /// Those of the store.
    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault>;

    /// The newest links of a kind that leave a node, newest first.
    ///
    /// # Errors
    /// Those of the store.
    fn newest_links(&mut self, src: u64, kind: u8, limit: usize) -> Result<Vec<Link>, Fault>;

    /// Appends where the links of a kind from these nodes lead, node by node, as one reading transaction.
    ///
    /// # Errors
    /// Those of the store.
    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault>;
}

/// Chooses the newest of what it is offered, in the order of time and then of destination, the latest first.
#[derive(Debug)]
pub struct Newest<T> {
    limit: usize,
    /// Fewer than twice the limit.
    kept: Vec<(i64, u64, T)>,
    /// What is not later than this is not among the newest.
    floor: Option<(i64, u64)>,
}

impl<T> Newest<T> {
    /// Keeps at most `limit`.
    pub fn new(limit: usize) -> Self {
        Newest { limit, kept: Vec::new(), floor: None }
    }

    /// Offers a link by its time and destination; `make` is called if it may be among the newest.
    #[inline]
    pub fn offer(&mut self, time: i64, dst: u64, make: impl FnOnce() -> T) {
        if self.floor.is_some_and(|floor| (time, dst) <= floor) {
            return;
        }
        self.kept.push((time, dst, make()));
        if self.kept.len() == 2 * self.limit {
            let (_, oldest, _) = self.kept.select_nth_unstable_by_key(self.limit - 1, latest_first);
            self.floor = Some((oldest.0, oldest.1));
            self.kept.truncate(self.limit);
        }
    }

    /// The kept ones: time, destination, what was made. The newest first.
    pub fn into_sorted(mut self) -> Vec<(i64, u64, T)> {
        self.kept.sort_unstable_by_key(latest_first);
        self.kept.truncate(self.limit);
        self.kept
    }
}

fn latest_first<T>(kept: &(i64, u64, T)) -> Reverse<(i64, u64)> {
    Reverse((kept.0, kept.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_newest_first() {
        let times = [5, 1, 9, 7, 3, 9];
        let mut newest = Newest::new(3);
        times.iter().zip(0..).for_each(|(&time, dst)| newest.offer(time, dst, || ()));
        assert_eq!(newest.into_sorted(), [(9, 5, ()), (9, 2, ()), (7, 3, ())]);
        let mut newest = Newest::new(50);
        (0..10_000_i64).for_each(|number| newest.offer(number * 7919 % 10_007, 0, || number));
        let mut times: Vec<_> = (0..10_000_i64).map(|number| number * 7919 % 10_007).collect();
        times.sort_unstable_by(|left, right| right.cmp(left));
        assert!(newest.into_sorted().iter().map(|kept| kept.0).eq(times.into_iter().take(50)));
    }
}
