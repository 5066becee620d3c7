//! What is said of a store in words: types of properties, how much history is kept, how commits last and lists are written.

use evergraph_store::{Durability, ListFormat, Retain};
use evergraph_types::PropertyType;

/// A word: what it is read as is written as words that are read as the same.
pub fn fuzz_name(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(kind) = PropertyType::from_name(text) {
        assert_eq!(kind.to_string(), text);
        assert_eq!(PropertyType::from_code(kind.code()), Some(kind));
    }
    if let Some(retain) = Retain::from_text(text) {
        assert_eq!(Retain::from_text(&retain.to_string()), Some(retain));
    }
    if let Some(durability) = Durability::from_name(text) {
        assert_eq!(durability.to_string(), text);
    }
    if let Some(format) = ListFormat::from_name(text) {
        assert_eq!(format.to_string(), text);
    }
}

/// Words of each kind.
pub(crate) fn names() -> Vec<Vec<u8>> {
    let retain = ["none", "all", "1000", "90s", "30m", "12h", "7d", "4w", "18446744073709551615"];
    let modes = ["sync", "interval", "fast", "compact"];
    let kinds = PropertyType::ALL.map(|kind| kind.name());
    retain.into_iter().chain(modes).chain(kinds).map(|name| name.as_bytes().to_vec()).collect()
}
