//! Write sets as bytes: the payload of a log record. docs/format.md draws it.
//!
//! Invariant: `decode(encode(x)) == x`, and `decode` gives `None` for any bytes that `encode` does not make, without
//! panicking and without allocating more than the bytes can fill.

use std::borrow::Borrow;
use std::sync::Arc;

use evergraph_types::{Cells, Column, EdgeBatch, KeyColumn, PropertyType, TextValues, Value};

use crate::lists::adjacency::as_bytes;
use crate::write_sets::catalog::ItemChange;
use crate::write_sets::ops::{EdgeOps, OpColumn, Rebound, VertexPut, WriteSet};

/// About so much is made room for at first: most sets are small, and most edges have no properties.
const SET_BYTES: usize = 256;
const EDGE_BYTES: usize = 8;
/// Of the kind of new keys: the first new id and the keys are followed by others whose ids other keys had before.
const AND_REBOUND: u8 = 1 << 7;

/// The bytes of a group of write sets: how many, and each of them.
pub(crate) fn encode(sets: impl Iterator<Item = impl Borrow<WriteSet>>) -> Vec<u8> {
    let (mut out, mut count) = (Vec::with_capacity(2 * SET_BYTES), 0_u32);
    put_u32(&mut out, 0);
    for set in sets {
        encode_set(set.borrow(), &mut out);
        count += 1;
    }
    out[..4].copy_from_slice(&count.to_le_bytes());
    out
}

/// The write sets of a payload; `None` if it is not one.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<WriteSet>> {
    let mut input = Input(bytes);
    let count = input.count(1)?;
    let sets = (0..count).map(|_| decode_set(&mut input)).collect::<Option<_>>()?;
    input.0.is_empty().then_some(sets)
}

fn put_u32(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_ids(out: &mut Vec<u8>, ids: &[u32]) {
    out.extend_from_slice(as_bytes(ids));
}

fn put_flags(out: &mut Vec<u8>, flags: Option<&Vec<bool>>) {
    out.push(u8::from(flags.is_some()));
    out.extend(flags.into_iter().flatten().map(|&flag| u8::from(flag)));
}

fn put_texts(out: &mut Vec<u8>, texts: &TextValues) {
    texts.iter().for_each(|text| put_bytes(out, text.as_bytes()));
}

/// Items of a catalog: number; each: name, whether it is there, its bytes.
pub(crate) fn encode_items<'a>(
    items: impl ExactSizeIterator<Item = (&'a str, Option<&'a [u8]>)>,
    out: &mut Vec<u8>,
) {
    put_u32(out, items.len());
    for (name, bytes) in items {
        put_bytes(out, name.as_bytes());
        out.push(u8::from(bytes.is_some()));
        put_bytes(out, bytes.unwrap_or_default());
    }
}

fn encode_set(set: &WriteSet, out: &mut Vec<u8>) {
    let edges: usize = set.edges.iter().map(|(_, ops)| ops.len()).sum();
    out.reserve(SET_BYTES + EDGE_BYTES * edges);
    let schema = set.schema.as_ref().and_then(|schema| serde_json::to_vec(schema).ok()).unwrap_or_default();
    put_bytes(out, &schema);
    put_u32(out, set.first_new_id as usize);
    let kind = out.len();
    encode_keys(set.new_keys.as_ref(), out);
    if let Some(Rebound { ids, keys }) = &set.rebound {
        out[kind] |= AND_REBOUND;
        put_u32(out, ids.len());
        put_ids(out, ids);
        encode_keys(Some(keys), out);
    }
    put_u32(out, set.vertex_deletes.len());
    put_ids(out, &set.vertex_deletes);
    put_u32(out, set.vertex_puts.len());
    for put in &set.vertex_puts {
        out.extend_from_slice(&put.vertex.to_le_bytes());
        out.push(u8::from(put.label.is_some()));
        out.extend_from_slice(&put.label.unwrap_or(0).to_le_bytes());
        put_u32(out, put.properties.len());
        for (property, value) in &put.properties {
            out.extend_from_slice(&property.to_le_bytes());
            encode_value(value, out);
        }
    }
    put_u32(out, set.edges.len());
    for (edge_type, ops) in &set.edges {
        out.extend_from_slice(&edge_type.to_le_bytes());
        encode_ops(ops, out);
    }
    encode_items(set.items.iter().map(|(name, bytes)| (&**name, bytes.as_deref())), out);
}

/// Operations on edges of a type, as in a log record.
pub(crate) fn encode_ops(ops: &EdgeOps, out: &mut Vec<u8>) {
    put_u32(out, ops.len());
    put_ids(out, &ops.src);
    put_ids(out, &ops.dst);
    put_flags(out, ops.deletes.as_ref());
    put_u32(out, ops.columns.len());
    for column in &ops.columns {
        out.extend_from_slice(&column.property.to_le_bytes());
        put_flags(out, column.given.as_ref());
        encode_column(&column.values, out);
    }
}

/// Edges by key: sources, destinations, number of columns; each: name, rows, values.
pub(crate) fn encode_batch(batch: &EdgeBatch, out: &mut Vec<u8>) {
    encode_keys(Some(&batch.src), out);
    encode_keys(Some(&batch.dst), out);
    put_u32(out, batch.columns.len());
    for (name, column) in &batch.columns {
        put_bytes(out, name.as_bytes());
        put_u32(out, column.len());
        encode_column(column, out);
    }
}

/// What [`encode_batch`] has made.
pub(crate) fn decode_batch(input: &mut Input<'_>) -> Option<EdgeBatch> {
    let (src, dst) = (input.keys()??, input.keys()??);
    let count = input.count(6)?;
    let column = |_| {
        let name = input.text()?.to_owned();
        let rows = input.u32()? as usize;
        Some((name, input.column(rows)?))
    };
    Some(EdgeBatch { src, dst, columns: (0..count).map(column).collect::<Option<_>>()? })
}

/// Keys as in a log record: kind, count, values.
pub(crate) fn encode_keys(keys: Option<&KeyColumn>, out: &mut Vec<u8>) {
    match keys {
        None => out.push(0),
        Some(KeyColumn::Int(numbers)) => {
            out.push(1);
            put_u32(out, numbers.len());
            out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        Some(KeyColumn::Text(texts)) => {
            out.push(2);
            put_u32(out, texts.len());
            put_texts(out, texts);
        }
    }
}

fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(flag) => out.extend_from_slice(&[1, u8::from(*flag)]),
        Value::Int(number) => put_tagged(2, number.to_le_bytes(), out),
        Value::UInt(number) => put_tagged(3, number.to_le_bytes(), out),
        Value::Float(number) => put_tagged(4, number.to_le_bytes(), out),
        Value::Text(text) => {
            out.push(5);
            put_bytes(out, text.as_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(6);
            put_bytes(out, bytes);
        }
        Value::Date(days) => put_tagged(7, days.to_le_bytes(), out),
        Value::Timestamp(micros) => put_tagged(8, micros.to_le_bytes(), out),
        Value::List(items) => {
            out.push(9);
            put_u32(out, items.len());
            items.iter().for_each(|item| encode_value(item, out));
        }
    }
}

fn put_tagged<const N: usize>(tag: u8, bytes: [u8; N], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&bytes);
}

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    out.push(column.property_type().code());
    put_flags(out, column.validity.as_ref());
    match column.cells() {
        Cells::Variable(texts) => (0..texts.len()).for_each(|row| put_bytes(out, texts.get_bytes(row))),
        cells => cells.to_le(out),
    }
}

/// Bytes still to be read.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A count of things that take at least `bytes` each, checked against what is left.
    fn count(&mut self, bytes: usize) -> Option<usize> {
        let count = self.u32()? as usize;
        (count.checked_mul(bytes)? <= self.0.len()).then_some(count)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.count(1)?;
        self.take(len)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn texts(&mut self, count: usize) -> Option<TextValues> {
        let mut texts = TextValues::default();
        for _ in 0..count {
            texts.push(self.text()?);
        }
        Some(texts)
    }

    fn words<const N: usize, T>(&mut self, count: usize, from: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let bytes = self.take(count.checked_mul(N)?)?;
        Some(bytes.as_chunks::<N>().0.iter().map(|word| from(*word)).collect())
    }

    fn bools(&mut self, count: usize) -> Option<Vec<bool>> {
        let bytes = self.take(count)?;
        bytes.iter().all(|&byte| byte <= 1).then(|| bytes.iter().map(|&byte| byte == 1).collect())
    }

    /// `Some(None)` where the flags are absent.
    fn flags(&mut self, count: usize) -> Option<Option<Vec<bool>>> {
        match self.u8()? {
            0 => Some(None),
            1 => self.bools(count).map(Some),
            _ => None,
        }
    }

    pub(crate) fn keys(&mut self) -> Option<Option<KeyColumn>> {
        let kind = self.u8()?;
        self.keys_of(kind)
    }

    fn keys_of(&mut self, kind: u8) -> Option<Option<KeyColumn>> {
        match kind {
            0 => Some(None),
            1 => {
                let count = self.count(8)?;
                Some(Some(KeyColumn::Int(self.words(count, i64::from_le_bytes)?)))
            }
            2 => {
                let count = self.count(4)?;
                Some(Some(KeyColumn::Text(self.texts(count)?)))
            }
            _ => None,
        }
    }

    pub(crate) fn items(&mut self) -> Option<Vec<ItemChange>> {
        let count = self.count(9)?;
        let item = |_| {
            let name = self.text()?.into();
            let is_there = self.u8()?;
            let bytes: Arc<[u8]> = self.bytes()?.into();
            match is_there {
                0 if bytes.is_empty() => Some((name, None)),
                1 => Some((name, Some(bytes))),
                _ => None,
            }
        };
        (0..count).map(item).collect()
    }

    fn value(&mut self) -> Option<Value> {
        match self.u8()? {
            9 => {
                let count = self.count(1)?;
                (0..count)
                    .map(|_| self.u8().and_then(|tag| self.scalar(tag)))
                    .collect::<Option<_>>()
                    .map(Value::List)
            }
            tag => self.scalar(tag),
        }
    }

    fn scalar(&mut self, tag: u8) -> Option<Value> {
        Some(match tag {
            0 => Value::Null,
            1 => Value::Bool(match self.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            }),
            2 => Value::Int(self.array().map(i64::from_le_bytes)?),
            3 => Value::UInt(self.array().map(u64::from_le_bytes)?),
            4 => Value::Float(self.array().map(f64::from_le_bytes)?),
            5 => Value::Text(self.text()?.to_owned()),
            6 => Value::Bytes(self.bytes()?.to_vec()),
            7 => Value::Date(self.array().map(i32::from_le_bytes)?),
            8 => Value::Timestamp(self.array().map(i64::from_le_bytes)?),
            _ => return None,
        })
    }

    fn column(&mut self, rows: usize) -> Option<Column> {
        let kind = PropertyType::from_code(self.u8()?)?;
        let validity = self.flags(rows)?;
        let cells = match kind.width() {
            Some(width) => self.cells(width, rows)?,
            None => {
                let mut texts = TextValues::default();
                for _ in 0..rows {
                    texts.push_bytes(self.bytes()?);
                }
                Cells::Variable(texts)
            }
        };
        let column = Column::of_cells(kind, cells)?.with_validity(validity);
        column.first_misfit().is_none().then_some(column)
    }

    fn cells(&mut self, width: usize, rows: usize) -> Option<Cells> {
        let mut cells = Cells::new(Some(width));
        cells.extend_from_le(self.take(rows.checked_mul(width)?)?);
        Some(cells)
    }

    fn vertex_put(&mut self) -> Option<VertexPut> {
        let vertex = self.u32()?;
        let has_label = self.u8()? != 0;
        let label = self.u16()?;
        let count = self.count(3)?;
        let properties = (0..count).map(|_| Some((self.u16()?, self.value()?))).collect::<Option<_>>()?;
        Some(VertexPut { vertex, label: has_label.then_some(label), properties })
    }

    pub(crate) fn edge_ops(&mut self) -> Option<EdgeOps> {
        let rows = self.count(8)?;
        let src = self.words(rows, u32::from_le_bytes)?;
        let dst = self.words(rows, u32::from_le_bytes)?;
        let deletes = self.flags(rows)?;
        let count = self.count(4)?;
        let columns = (0..count)
            .map(|_| {
                let property = self.u16()?;
                let given = self.flags(rows)?;
                Some(OpColumn { property, given, values: self.column(rows)? })
            })
            .collect::<Option<_>>()?;
        Some(EdgeOps { src, dst, deletes, columns })
    }
}

/// New keys, and those whose ids other keys had before.
fn decode_new_keys(input: &mut Input<'_>) -> Option<(Option<KeyColumn>, Option<Rebound>)> {
    let kind = input.u8()?;
    let new_keys = input.keys_of(kind & !AND_REBOUND)?;
    if kind & AND_REBOUND == 0 {
        return Some((new_keys, None));
    }
    let count = input.count(4)?;
    let ids = input.words(count, u32::from_le_bytes)?;
    let keys = input.keys()??;
    (keys.len() == count).then_some((new_keys, Some(Rebound { ids, keys })))
}

fn decode_set(input: &mut Input<'_>) -> Option<WriteSet> {
    let schema = input.bytes()?;
    let schema = if schema.is_empty() { None } else { Some(serde_json::from_slice(schema).ok()?) };
    let first_new_id = input.u32()?;
    let (new_keys, rebound) = decode_new_keys(input)?;
    let count = input.count(4)?;
    let vertex_deletes = input.words(count, u32::from_le_bytes)?;
    let count = input.count(11)?;
    let vertex_puts = (0..count).map(|_| input.vertex_put()).collect::<Option<_>>()?;
    let count = input.count(11)?;
    let edges = (0..count).map(|_| Some((input.u16()?, input.edge_ops()?))).collect::<Option<_>>()?;
    let items = input.items()?;
    Some(WriteSet { schema, new_keys, first_new_id, rebound, vertex_deletes, vertex_puts, edges, items })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A value of each kind.
    fn values() -> Vec<Value> {
        let scalars = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-1),
            Value::UInt(u64::MAX),
            Value::Float(0.5),
            Value::from("x"),
            Value::Bytes(vec![0, 255]),
            Value::Date(-9),
            Value::Timestamp(9),
        ];
        scalars.iter().cloned().chain([Value::List(scalars.to_vec())]).collect()
    }

    fn sample() -> Vec<WriteSet> {
        let mut ops = EdgeOps::default();
        let kind = |id| if id == 0 { PropertyType::Float64 } else { PropertyType::String };
        ops.push(1, 2, false, &[(0, Value::Float(0.5))], kind);
        ops.push_delete(2, 1);
        ops.push(3, 1, false, &[(1, Value::from("x")), (0, Value::Null)], kind);
        let put = VertexPut { vertex: 7, label: Some(2), properties: (0..).zip(values()).collect() };
        vec![
            WriteSet {
                schema: Some(Default::default()),
                new_keys: Some(KeyColumn::Int(vec![-5, 6])),
                first_new_id: 3,
                rebound: Some(Rebound { ids: vec![2, 0], keys: KeyColumn::Int(vec![7, i64::MIN]) }),
                vertex_deletes: vec![1, 2],
                vertex_puts: vec![put],
                edges: vec![(0, ops), (4, EdgeOps::default())],
                items: vec![("a".into(), Some([1, 2].as_slice().into())), ("b".into(), None)],
            },
            WriteSet::default(),
            WriteSet {
                rebound: Some(Rebound { ids: vec![1], keys: KeyColumn::Text(["x"].into_iter().collect()) }),
                ..WriteSet::default()
            },
        ]
    }

    #[test]
    fn decodes_what_it_encodes() {
        assert_eq!(decode(&encode(sample().iter())), Some(sample()));
    }

    #[test]
    fn refuses_what_is_cut_off_or_extended() {
        let bytes = encode(sample().iter());
        assert!((0..bytes.len()).all(|len| decode(&bytes[..len]).is_none()));
        assert_eq!(decode(&[bytes, vec![0]].concat()), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..300, byte: u8) {
            let _ = decode(&bytes);
            let mut near = encode(sample().iter());
            let at = at % near.len();
            near[at] = byte;
            let _ = decode(&near);
        }
    }
}
