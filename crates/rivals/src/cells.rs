//! Keys and values of the stores that know bytes only.
//!
//! ```text
//!  key of a link   source: u64, big-endian | kind: u8 | destination: u64, big-endian
//!  its value       time: i64 | version: i64 | visible: u8 | data
//!  key of a node   id: u64, big-endian
//!  its value       time: i64 | version: i64 | data
//! ```
//!
//! Invariant: keys in the order of bytes are in the order of source, kind and destination.

use crate::{Fault, Link, Links, Node, Payload};

/// The bytes all links of one kind from one node begin with.
pub(crate) fn prefix(src: u64, kind: u8) -> [u8; 9] {
    let mut prefix = [kind; 9];
    prefix[..8].copy_from_slice(&src.to_be_bytes());
    prefix
}

pub(crate) fn link_key(src: u64, kind: u8, dst: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..9].copy_from_slice(&prefix(src, kind));
    key[9..].copy_from_slice(&dst.to_be_bytes());
    key
}

pub(crate) fn node_value(node: &Node) -> Vec<u8> {
    [&node.time.to_le_bytes()[..], &node.version.to_le_bytes(), node.data.as_bytes()].concat()
}

pub(crate) fn read_node(value: &[u8], into: &mut Node) -> Result<(), Fault> {
    let (time, rest) = number(value)?;
    let (version, data) = number(rest)?;
    (into.time, into.version) = (time, version);
    into.data.clear();
    into.data.push_str(std::str::from_utf8(data)?);
    Ok(())
}

pub(crate) fn link_value(link: &Link) -> Vec<u8> {
    let numbers = [link.time.to_le_bytes(), link.version.to_le_bytes()].concat();
    [&numbers[..], &[u8::from(link.visible)], link.data.as_bytes()].concat()
}

/// The destination in a link's key.
pub(crate) fn dst_of(key: &[u8]) -> Result<u64, Fault> {
    let bytes = key.get(9..17).ok_or("a link's key is too short")?;
    Ok(u64::from_be_bytes(bytes.try_into()?))
}

/// Offers a link.
pub(crate) fn offer(dst: u64, value: &[u8], into: &mut Links) -> Result<(), Fault> {
    let (time, rest) = number(value)?;
    into.offer(time, dst, || {
        let (version, rest) = number(rest)?;
        let (visible, data) = rest.split_first().ok_or("a link's value is too short")?;
        Ok(Payload { version, visible: *visible != 0, data: std::str::from_utf8(data)? })
    })
}

fn number(bytes: &[u8]) -> Result<(i64, &[u8]), Fault> {
    let (number, rest) = bytes.split_first_chunk().ok_or("a value is too short")?;
    Ok((i64::from_le_bytes(*number), rest))
}
