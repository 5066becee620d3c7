//! Stores to test, and batches to put into them.

use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{Disk, SimDisk};
use evergraph_store::{OpenError, Options, Store};
use evergraph_types::{Column, EdgeBatch, Key, KeyColumn, PropertyType, Value};

/// Where the store lies on a simulated disk.
pub(crate) fn directory() -> &'static Path {
    Path::new("/net.eg")
}

/// Options under which everything happens when the test says so.
pub(crate) fn options() -> Options {
    Options { background: false, ..Options::default() }
}

/// Opens the store on a disk.
pub(crate) fn try_open(disk: &SimDisk, options: Options) -> Result<Store, OpenError> {
    Store::open_on(on(disk), directory(), options)
}

/// Opens the store on a disk that is in order.
pub(crate) fn open(disk: &SimDisk, options: Options) -> Store {
    try_open(disk, options).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of opening the store on this disk.
pub(crate) fn open_error(disk: &SimDisk, options: Options) -> OpenError {
    match try_open(disk, options) {
        Ok(_) => panic!("the store opened"),
        Err(error) => error,
    }
}

/// The disk as a trait object.
pub(crate) fn on(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// A number key.
pub(crate) fn number(key: i64) -> Key {
    Key::Int(key)
}

/// A batch without columns.
pub(crate) fn batch(edges: impl IntoIterator<Item = (Key, Key)>) -> EdgeBatch {
    let (src, dst): (Vec<Key>, Vec<Key>) = edges.into_iter().unzip();
    let column = |keys| KeyColumn::from_keys(keys).expect("keys of one kind");
    EdgeBatch { src: column(src), dst: column(dst), columns: Vec::new() }
}

/// A batch of number keys without columns.
pub(crate) fn number_batch(edges: impl IntoIterator<Item = (i64, i64)>) -> EdgeBatch {
    batch(edges.into_iter().map(|(src, dst)| (number(src), number(dst))))
}

/// The batch with property columns, `value` telling each cell by column and row.
pub(crate) fn with_columns(
    mut batch: EdgeBatch,
    columns: &[(&str, PropertyType)],
    value: impl Fn(usize, usize) -> Value,
) -> EdgeBatch {
    for (position, (name, kind)) in columns.iter().enumerate() {
        let mut column = Column::new(*kind);
        (0..batch.len()).for_each(|row| column.push(value(position, row)).expect("a value of the type"));
        batch.columns.push(((*name).to_owned(), column));
    }
    batch
}
