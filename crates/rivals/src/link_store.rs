//! What a store of nodes and links must be able to do to take part.
//!
//! Invariant: every store answers the same, into buffers of whoever asks; [`Links`] decides for all of them which links are the
//! newest.

use crate::Links;

/// Whatever went wrong in a store.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The payload of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// When it was written, in microseconds.
    pub time: i64,
    /// How often it was written.
    pub version: i64,
    /// About 128 bytes.
    pub data: String,
}

/// A link to `dst`, as it is put.
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
    /// Reads a node's payload, if there is one: whether there is.
    ///
    /// # Errors
    /// Those of the store, as of all these requests.
    fn node(&mut self, id: u64, into: &mut Node) -> Result<bool, Fault>;

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

    /// Offers one link, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    fn link(&mut self, src: u64, kind: u8, dst: u64, into: &mut Links) -> Result<(), Fault>;

    /// Puts a link or replaces it.
    ///
    /// # Errors
    /// Those of the store.
    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault>;

    /// Puts links of several clients, each by a transaction of its own, and waits for all.
    ///
    /// # Errors
    /// Those of the store.
    fn put_links(&mut self, links: &[(u64, u8, Link)]) -> Result<(), Fault> {
        links.iter().try_for_each(|(src, kind, link)| self.put_link(*src, *kind, link))
    }

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

    /// Offers the links of a kind that leave a node, or the newest of them, as many as are kept.
    ///
    /// # Errors
    /// Those of the store.
    fn links(&mut self, src: u64, kind: u8, into: &mut Links) -> Result<(), Fault>;

    /// Appends where the links of a kind from these nodes lead, node by node, as one reading transaction.
    ///
    /// # Errors
    /// Those of the store.
    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault>;
}
