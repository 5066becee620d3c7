//! What is written reads back equal; what cannot be written is an error.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_load::{
    ColumnRef, ExportError, Format, LoadOptions, NoProgress, ParsedEdges, PropertySpec, WriteOptions,
    read_edges, write_edges,
};
use evergraph_types::{Column, EdgeBatch, Key, KeyColumn, KeyKind, PropertyType, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Text with everything that needs care.
fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["a", "é", "1", ",", "\t", " ", "\"", "\n", "\r", "\r\n", "#", ";", "\u{feff}", "null", "true"];
    vec(select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat())
}

fn value(kind: PropertyType) -> BoxedStrategy<Value> {
    let value = match kind {
        PropertyType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        PropertyType::Int64 => any::<i64>().prop_map(Value::Int).boxed(),
        PropertyType::Float64 => any::<f64>().prop_map(Value::Float).boxed(),
        PropertyType::Float32 => any::<f32>().prop_map(|number| Value::Float(number.into())).boxed(),
        PropertyType::String => text().prop_map(Value::Text).boxed(),
        PropertyType::Bytes => vec(any::<u8>(), 0..5).prop_map(Value::Bytes).boxed(),
        PropertyType::Date => prop_oneof![any::<i32>(), -10_000..10_000].prop_map(Value::Date).boxed(),
        PropertyType::Timestamp => {
            prop_oneof![any::<i64>(), -(1i64 << 50)..1i64 << 50].prop_map(Value::Timestamp).boxed()
        }
        kind => match kind.item() {
            Some(item) => vec(value(PropertyType::scalar(item)), 0..4).prop_map(Value::List).boxed(),
            None => any::<u64>().prop_map(move |bits| Value::of_bits(kind, bits)).boxed(),
        },
    };
    prop_oneof![1 => Just(Value::Null), 5 => value].boxed()
}

fn key(kind: KeyKind) -> BoxedStrategy<Key> {
    match kind {
        KeyKind::Text => text().prop_map(|text| Key::Text(text + "k")).boxed(),
        KeyKind::Int64 => any::<i64>().prop_map(Key::Int).boxed(),
        KeyKind::Dense => (0i64..4_294_967_294).prop_map(Key::Int).boxed(),
    }
}

type Row = (Key, Key, Vec<Value>);

fn batch(kinds: &[PropertyType], rows: Vec<Row>) -> EdgeBatch {
    let mut columns: Vec<(String, Column)> = kinds
        .iter()
        .enumerate()
        .map(|(position, kind)| (format!("p{position}"), Column::new(*kind)))
        .collect();
    for (column, position) in columns.iter_mut().zip(0..) {
        for (_, _, values) in &rows {
            column.1.push(values[position].clone()).unwrap();
        }
    }
    let keys = |end: fn(&Row) -> &Key| KeyColumn::from_keys(rows.iter().map(|row| end(row).clone())).unwrap();
    EdgeBatch { src: keys(|row| &row.0), dst: keys(|row| &row.1), columns }
}

fn batches() -> impl Strategy<Value = (KeyKind, Vec<PropertyType>, Vec<EdgeBatch>)> {
    let kinds = vec(select(PropertyType::ALL.to_vec()), 0..4);
    let keys = select(vec![KeyKind::Int64, KeyKind::Dense, KeyKind::Text]);
    (keys, kinds).prop_flat_map(|(keys, kinds)| {
        let values: Vec<_> = kinds.iter().map(|kind| value(*kind)).collect();
        let rows = vec((key(keys), key(keys), values), 1..8);
        let of_batch = kinds.clone();
        let batches = vec(rows.prop_map(move |rows| batch(&of_batch, rows)), 1..4);
        (Just(keys), Just(kinds), batches)
    })
}

fn read_back(bytes: &[u8], options: &LoadOptions) -> ParsedEdges {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    read_edges(&path, options, &NoProgress).unwrap()
}

/// All rows of all batches, doubles by their digits so that NaN equals itself.
fn show(batches: &[EdgeBatch]) -> Vec<String> {
    let of_batch = |batch: &EdgeBatch| {
        let values =
            |row| batch.columns.iter().map(move |(name, column)| format!("{name}={:?}", column.get(row)));
        let row = |row| {
            format!("{:?} {:?} {:?}", batch.src.get(row), batch.dst.get(row), values(row).collect::<Vec<_>>())
        };
        (0..batch.len()).map(row).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of_batch).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(
        (keys, kinds, batches) in batches(),
        format in select(vec![Format::Csv, Format::Tsv, Format::EdgeList]),
        delimiter in select(vec![None, None, Some(b';'), Some(b'|'), Some(b'\t')]),
        header: bool, by_name: bool, block_bytes in select(vec![1usize, 20, 1 << 20]),
    ) {
        let mut out = Vec::new();
        let options = WriteOptions { format, delimiter, header: Some(header), ..WriteOptions::default() };
        let written = match write_edges(&mut out, &batches, &options) {
            Ok(written) => written,
            Err(ExportError::Unrepresentable { .. }) if format == Format::EdgeList => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        prop_assert_eq!(written as usize, batches.iter().map(EdgeBatch::len).sum::<usize>());
        let spec = |(position, kind): (usize, &PropertyType)| {
            let name = format!("p{position}");
            let column = if header && by_name { name.as_str().into() } else { ColumnRef::Index(position + 2) };
            PropertySpec { column, name, kind: Some(*kind) }
        };
        let parsed = read_back(&out, &LoadOptions {
            format: Some(format),
            delimiter: delimiter.or((format == Format::Csv).then_some(b',')),
            header: Some(header),
            properties: Some(kinds.iter().enumerate().map(spec).collect()),
            keys: Some(keys),
            block_bytes,
            ..LoadOptions::default()
        });
        prop_assert_eq!(show(&parsed.parts), show(&batches));
    }
}

fn one_edge(src: &str, value: Value) -> EdgeBatch {
    let kind = value.property_type().unwrap_or(PropertyType::String);
    batch(&[kind], vec![(src.into(), "b".into(), vec![value])])
}

#[test]
fn nothing_said_reads_back_as_well() {
    let mut out = Vec::new();
    let batch = one_edge("alice", Value::Float(1e300));
    write_edges(&mut out, [&batch], &WriteOptions::default()).unwrap();
    assert_eq!(std::str::from_utf8(&out), Ok("src,dst,p0\nalice,b,1e300\n"));
    assert_eq!(read_back(&out, &LoadOptions::default()).parts, [batch]);
}

#[test]
fn what_a_format_cannot_write() {
    let edge_list = WriteOptions { format: Format::EdgeList, ..WriteOptions::default() };
    let text = |text: &str| Value::Text(text.to_owned());
    for batch in [
        one_edge("a b", text("x")),
        one_edge("#a", text("x")),
        one_edge("", text("x")),
        one_edge("a", text("")),
        one_edge("a", text("x\ny")),
        one_edge("a", Value::Null),
    ] {
        let error = write_edges(&mut Vec::new(), [&batch], &edge_list);
        assert!(
            matches!(error, Err(ExportError::Unrepresentable { row: Some(0), .. })),
            "{batch:?}: {error:?}"
        );
    }
    for batch in [one_edge("", text("x")), one_edge("a\0", text("x")), one_edge("a", text("\0"))] {
        let error = write_edges(&mut Vec::new(), [&batch], &WriteOptions::default());
        assert!(matches!(error, Err(ExportError::Unrepresentable { .. })), "{batch:?}: {error:?}");
    }
}

#[test]
fn batches_that_do_not_fit_together() {
    let plain = EdgeBatch { src: KeyColumn::Int(vec![1]), dst: KeyColumn::Int(vec![2]), columns: Vec::new() };
    let error =
        write_edges(&mut Vec::new(), [&one_edge("a", Value::Int(1)), &plain], &WriteOptions::default());
    assert!(matches!(error, Err(ExportError::Columns { .. })), "{error:?}");
    let short = EdgeBatch { dst: KeyColumn::Int(Vec::new()), ..plain };
    let error = write_edges(&mut Vec::new(), [short], &WriteOptions::default());
    assert!(matches!(error, Err(ExportError::Length { expected: 1, found: 0, .. })), "{error:?}");
    let options = WriteOptions { delimiter: Some(b'1'), ..WriteOptions::default() };
    let error = write_edges(&mut Vec::new(), [one_edge("a", Value::Null)], &options);
    assert!(matches!(error, Err(ExportError::Delimiter { .. })), "{error:?}");
}
