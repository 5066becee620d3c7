//! What to take from each record: decided once per file by `sniff`, shared by all blocks.

use evergraph_types::{KeyKind, PropertyType};

use crate::OnError;
use crate::parsed::Reject;
use crate::split::Dialect;

/// A property column.
#[derive(Clone, Debug)]
pub(crate) struct PropertyPlan {
    /// The position of its field.
    pub(crate) field: usize,
    /// The name of the property.
    pub(crate) name: String,
    /// Declared: its type. Inferred: the type that held for all values seen so far.
    pub(crate) kind: Option<PropertyType>,
    /// Whether the type is declared.
    pub(crate) declared: bool,
}

/// How to read the records of a file.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) dialect: Dialect,
    /// The number of fields every record has.
    pub(crate) fields: usize,
    /// The position of the source key.
    pub(crate) src: usize,
    /// The position of the destination key.
    pub(crate) dst: usize,
    /// Declared: the kind of keys. Inferred: int64 as long as all keys seen so far are.
    pub(crate) keys: KeyKind,
    /// Whether the kind of keys is inferred.
    pub(crate) keys_inferred: bool,
    pub(crate) properties: Vec<PropertyPlan>,
    pub(crate) on_error: OnError,
    /// How many rejected lines to keep.
    pub(crate) rejects_kept: usize,
    /// The mean length of a row in the sample, to size buffers.
    pub(crate) bytes_per_row: usize,
}

/// Guesses that a value has refuted: these columns are strings, and what was read of them must be read again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Widen {
    /// The first key that is no int64.
    pub(crate) keys: Option<Reject>,
    /// Positions in [`Plan::properties`].
    pub(crate) properties: Vec<usize>,
}

impl Widen {
    /// Whether all guesses hold.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_none() && self.properties.is_empty()
    }
}

impl Plan {
    /// Takes back what was refuted. Each call makes at least one column a string column for good, so that there
    /// are at most as many calls as columns.
    pub(crate) fn widen(&mut self, widen: &Widen) {
        if widen.keys.is_some() {
            self.keys = KeyKind::Text;
        }
        for property in &widen.properties {
            if let Some(property) = self.properties.get_mut(*property) {
                property.kind = Some(PropertyType::String);
            }
        }
    }

    /// The rows that `bytes` of the file may hold, a little generously.
    pub(crate) fn rows_in(&self, bytes: usize) -> usize {
        let rows = bytes / self.bytes_per_row.max(2);
        rows + rows / 16 + 1
    }
}
