//! Keys by id, for whole tables: the dictionary read once in the order of ids, then looked up by array.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use evergraph_store::Version;
use evergraph_types::{KeyColumn, KeyKind, TextValues, VertexId};
use rayon::prelude::*;

use crate::arrays::text_array;
use crate::gather::fill_pieces;

/// The keys of all ids of a version.
#[derive(Debug)]
pub(crate) enum KeyTable {
    /// Keys are ids.
    Dense,
    /// Numbers.
    Int(Vec<i64>),
    /// Strings.
    Text(TextValues),
}

impl KeyTable {
    pub(crate) fn new(version: &Version) -> Self {
        if version.schema().key_kind == Some(KeyKind::Dense) {
            return KeyTable::Dense;
        }
        match version.keys(0..version.id_bound()) {
            KeyColumn::Int(keys) => KeyTable::Int(keys),
            KeyColumn::Text(keys) => KeyTable::Text(keys),
        }
    }

    /// The keys of pieces of a column of ids, laid end to end.
    pub(crate) fn array(&self, parts: &[&[VertexId]]) -> ArrayRef {
        match self {
            KeyTable::Dense => Arc::new(Int64Array::from(numbers(parts, i64::from))),
            KeyTable::Int(keys) => Arc::new(Int64Array::from(numbers(parts, |id| keys[id as usize]))),
            KeyTable::Text(keys) => {
                let texts: Vec<TextValues> = parts.par_iter().map(|ids| texts(keys, ids)).collect();
                text_array(&texts.iter().collect::<Vec<_>>(), None)
            }
        }
    }

    /// The keys of some ids.
    pub(crate) fn column(&self, ids: &[VertexId]) -> KeyColumn {
        match self {
            KeyTable::Dense => KeyColumn::Int(ids.iter().map(|&id| i64::from(id)).collect()),
            KeyTable::Int(keys) => KeyColumn::Int(ids.iter().map(|&id| keys[id as usize]).collect()),
            KeyTable::Text(keys) => KeyColumn::Text(texts(keys, ids)),
        }
    }
}

fn numbers(parts: &[&[VertexId]], key: impl Fn(VertexId) -> i64 + Sync) -> Vec<i64> {
    let mut keys = vec![0; parts.iter().map(|part| part.len()).sum()];
    fill_pieces(
        &mut keys,
        parts,
        |part| part.len(),
        |piece, part| {
            piece.iter_mut().zip(*part).for_each(|(to, &id)| *to = key(id));
        },
    );
    keys
}

fn texts(keys: &TextValues, ids: &[VertexId]) -> TextValues {
    let mut texts = TextValues::default();
    texts.offsets.reserve(ids.len());
    for &id in ids {
        let bounds = keys.offsets[id as usize] as usize..keys.offsets[id as usize + 1] as usize;
        texts.bytes.extend_from_slice(&keys.bytes[bounds]);
        texts.offsets.push(texts.bytes.len() as u64);
    }
    texts
}
