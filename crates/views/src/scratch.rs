//! Scratch properties: values that an application keeps for members of a view, beside the graph and in memory only
//! (Concerto, section 3: properties of a view).
//!
//! Invariant: no null is kept.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use evergraph_store::KeyHold;
use evergraph_types::{Value, VertexId};
use parking_lot::Mutex;

/// The scratch properties of one view. They are not stored: the next process starts with none.
///
/// As long as there are some, the vertices' ids are given to no others.
#[derive(Debug, Default)]
pub struct Scratch {
    keys: OnceLock<KeyHold>,
    values: Mutex<BTreeMap<String, BTreeMap<VertexId, Value>>>,
}

impl Scratch {
    /// Has ids mean what they do now, before there can be any values.
    pub(crate) fn hold_keys(&self, hold: impl FnOnce() -> KeyHold) {
        self.keys.get_or_init(hold);
    }

    /// Sets a property of a vertex; null takes it away.
    pub fn set(&self, property: &str, vertex: VertexId, value: Value) {
        let mut values = self.values.lock();
        if value == Value::Null {
            if let Some(column) = values.get_mut(property) {
                column.remove(&vertex);
            }
            return;
        }
        values.entry(property.to_owned()).or_default().insert(vertex, value);
    }

    /// A property of a vertex; null if it has none.
    pub fn get(&self, property: &str, vertex: VertexId) -> Value {
        let values = self.values.lock();
        values.get(property).and_then(|column| column.get(&vertex)).cloned().unwrap_or(Value::Null)
    }

    /// The vertices that have a property, with its values, by id.
    pub fn column(&self, property: &str) -> Vec<(VertexId, Value)> {
        let values = self.values.lock();
        let column = values.get(property).into_iter().flatten();
        column.map(|(vertex, value)| (*vertex, value.clone())).collect()
    }

    /// The names of the properties there are.
    pub fn properties(&self) -> Vec<String> {
        self.values.lock().keys().cloned().collect()
    }

    /// Removes a property.
    pub fn clear(&self, property: &str) {
        self.values.lock().remove(property);
    }
}
