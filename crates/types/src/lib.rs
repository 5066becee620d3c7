//! The nouns of Evergraph. Everything else speaks in these: keys and ids of vertices, property values and
//! columns of them, the schema, a batch of edges on its way in.
//!
//! Nothing here does I/O, locks or allocates shared state.

mod batch;
mod cells;
mod column;
mod id;
mod key;
mod list;
mod progress;
mod property_type;
mod record;
mod schema;
mod shown;
mod value;

pub use batch::{EdgeBatch, KeyColumn};
pub use cells::{Cells, TextValues};
pub use column::Column;
pub use id::{Direction, MAX_VERTICES, Sequence, VertexId};
pub use key::{Key, KeyKind, KeyRef};
pub use progress::{NoProgress, Progress};
pub use property_type::{PropertyType, ScalarType};
pub use record::{EdgeData, VertexData};
pub use schema::{
    Alteration, EdgeType, EdgeTypeId, EdgeTypeOptions, Property, PropertyId, PropertyOwner, Schema,
    SchemaError, VertexTypeId,
};
pub use shown::{DateText, TimeText, days_from_civil, shown, shown_names};
pub use value::{CellValue, MAX_TEXT_BYTES, Value};
