//! Any file, cut into blocks of any size, plain or compressed, reads as the naive reader reads it.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::io::Write;
use std::path::{Path, PathBuf};

use evergraph_load::{
    ColumnRef, Format, LoadError, LoadOptions, NoProgress, OnError, ParsedEdges, PropertySpec, read_edges,
};
use evergraph_types::{KeyKind, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Copy, Debug)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

fn write(directory: &Path, bytes: &[u8], packing: Packing) -> PathBuf {
    // Two members or frames, cut in the middle.
    let halves = bytes.split_at(bytes.len() / 2);
    let path = directory.join("file.dat");
    let packed = match packing {
        Packing::Plain => bytes.to_vec(),
        Packing::Gzip => [gzip(halves.0), gzip(halves.1)].concat(),
        Packing::Zstd => {
            [zstd::encode_all(halves.0, 1).unwrap(), zstd::encode_all(halves.1, 1).unwrap()].concat()
        }
    };
    std::fs::write(&path, packed).unwrap();
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn show(parsed: &ParsedEdges) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for part in &parsed.parts {
        assert!(!part.is_empty(), "no batch is empty");
        for row in 0..part.len() {
            let mut shown = vec![part.src.get(row).to_string(), part.dst.get(row).to_string()];
            shown.extend(part.columns.iter().map(|(_, column)| match column.get(row) {
                Value::Float(number) => crate::naive::show_float(number),
                value => value.to_string(),
            }));
            rows.push(shown);
        }
    }
    rows
}

fn compare(bytes: &[u8], options: &LoadOptions, packing: Packing) {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), bytes, packing);
    let expected = crate::naive::read(bytes, options);
    let found = read_edges(&path, options, &NoProgress);
    let raised = options.on_error == OnError::Raise && !expected.bad.is_empty();
    match found {
        Err(LoadError::MissingColumn { .. }) => {
            assert!(expected.missing_column && expected.carriage_return.is_none(), "{expected:?}");
        }
        Err(LoadError::Empty { .. }) => {
            assert!(expected.rows.is_empty() && expected.bad.is_empty(), "{expected:?}");
        }
        Err(LoadError::Line { line, column, reason, .. }) if expected.missing_column => {
            assert!(reason.contains("carriage return"), "{reason}");
            let bad = expected.carriage_return.map(|bad| (bad.line, bad.column));
            assert_eq!(bad, Some((line, column)));
        }
        Err(LoadError::Line { line, column, reason, .. }) => {
            assert!(raised, "{line}:{column}: {reason}");
            let bad = &expected.bad[0];
            assert_eq!((line, column), (bad.line, bad.column), "{reason}, {expected:?}");
            assert!(reason.contains(bad.word), "{reason}, {expected:?}");
        }
        Err(error) => panic!("{error}"),
        Ok(parsed) => {
            assert!(!raised && !expected.missing_column, "{expected:?}");
            assert_eq!(show(&parsed), expected.rows);
            assert_eq!(parsed.lines, expected.lines, "lines");
            assert_eq!(parsed.rejects.count, expected.bad.len() as u64, "{:?}", parsed.rejects);
            let kept = expected.bad.len().min(options.max_rejects_kept);
            assert_eq!(parsed.rejects.kept.len(), kept);
            for (reject, bad) in parsed.rejects.kept.iter().zip(&expected.bad) {
                assert_eq!((reject.line, reject.column), (bad.line, bad.column), "{reject:?}");
                assert!(reject.reason.contains(bad.word), "{reject:?}, {bad:?}");
            }
        }
    }
}

/// Bytes that mean something to some reader, in any order.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 22] = [
        b"1",
        b"2",
        b"77",
        b",",
        b",",
        b"\t",
        b" ",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"\"",
        b"\"\"",
        b"a",
        b"#",
        b"%",
        b"-",
        b".",
        b"\0",
        b"\xff",
        b"9223372036854775807",
        b"\xef\xbb\xbf",
    ];
    vec(select(pieces.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

/// Lines that are mostly right, with two or three fields.
fn lines(delimiter: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let fields = [
        "1",
        "2",
        "13",
        "4294967293",
        "4294967294",
        "-5",
        "+6",
        "007",
        "9223372036854775807",
        "9223372036854775808",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "0.5",
        "1e3",
        "nan",
        "-0",
        "true",
        "False",
        "1970-01-02",
        "1970-01-31",
        "alice",
        "b\"ob",
        "\"\"",
        "\"x\"",
        "\"multi\nline\"",
        "\"say \"\"hi\"\"\"",
        "\"open",
        "\"1\"x",
        "",
        " ",
        " 3 ",
        "\" \"",
        "é",
        "\u{0}",
        "\"a,b\"",
        "5\r6",
        "\"7\r8\"",
    ];
    let ends = vec!["\n", "\n", "\n", "\n", "\r\n", "\n\n", "\n# note\n", "\n# 1 2\n", "\n#,1,2\n", ""];
    let usual = (0..200u32).prop_map(|number| number.to_string());
    let odd = select(fields.to_vec()).prop_map(str::to_owned);
    let field = prop_oneof![9 => usual, 1 => odd];
    let line = |width: usize| {
        let count = prop_oneof![12 => Just(width), 1 => 0..6usize];
        (count, vec(field.clone(), 6), select(ends.clone()))
            .prop_map(move |(count, fields, end)| fields[..count].join(delimiter) + end)
    };
    let above = select(vec!["", "", "", "# note\n", "#\n # by, hand\n", "#1,2\n"]);
    let rows = prop_oneof![vec(line(2), 0..40), vec(line(3), 0..30)];
    (above, rows).prop_map(|(above, lines)| (above.to_owned() + &lines.concat()).into_bytes())
}

fn options() -> impl Strategy<Value = LoadOptions> {
    let keys = select(vec![None, None, Some(KeyKind::Int64), Some(KeyKind::Dense), Some(KeyKind::Text)]);
    let kind = prop_oneof![3 => Just(None), 2 => select(crate::naive::types()).prop_map(Some)];
    let block_bytes = select(vec![1usize, 2, 3, 5, 8, 13, 40, 200, 1 << 20]);
    let line_limit_bytes = prop_oneof![4 => Just(64usize << 20), 1 => 1..40usize];
    let on_error = select(vec![OnError::Raise, OnError::Skip]);
    let usual = option::of(Just(2usize)).prop_map(|property| (None, None, property));
    let ends = select(vec![(0usize, 1usize), (1, 0), (1, 2), (2, 1), (0, 2)]);
    let any =
        (ends, option::of(0..3usize)).prop_map(|((src, dst), property)| (Some(src), Some(dst), property));
    let columns = prop_oneof![usual, any];
    (keys, kind, columns, block_bytes, line_limit_bytes, on_error, 0..6usize).prop_map(
        |(keys, kind, columns, block_bytes, line_limit_bytes, on_error, max_rejects_kept)| LoadOptions {
            header: Some(false),
            src: columns.0.map(ColumnRef::Index),
            dst: columns.1.map(ColumnRef::Index),
            properties: columns.2.map(|property| {
                vec![PropertySpec { column: ColumnRef::Index(property), name: "p".to_owned(), kind }]
            }),
            keys,
            on_error,
            max_rejects_kept,
            block_bytes,
            line_limit_bytes,
            ..LoadOptions::default()
        },
    )
}

fn packing() -> impl Strategy<Value = Packing> {
    select(vec![Packing::Plain, Packing::Plain, Packing::Gzip, Packing::Zstd])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_of_any_format(
        bytes in soup(), options in options(), packing in packing(),
        format in select(vec![Format::EdgeList, Format::Csv, Format::Tsv]),
    ) {
        let delimiter = (format == Format::Csv).then_some(b',');
        compare(&bytes, &LoadOptions { format: Some(format), delimiter, ..options }, packing);
    }

    #[test]
    fn edge_lists(bytes in lines(" "), options in options(), packing in packing()) {
        compare(&bytes, &LoadOptions { format: Some(Format::EdgeList), ..options }, packing);
    }

    #[test]
    fn edge_lists_with_a_delimiter(bytes in lines(","), options in options(), packing in packing()) {
        let options = LoadOptions { format: Some(Format::EdgeList), delimiter: Some(b','), ..options };
        compare(&bytes, &options, packing);
    }

    #[test]
    fn csv(bytes in lines(","), options in options(), packing in packing()) {
        let options = LoadOptions { format: Some(Format::Csv), delimiter: Some(b','), ..options };
        compare(&bytes, &options, packing);
    }

    #[test]
    fn csv_with_a_header(bytes in lines(","), options in options(), packing in packing()) {
        let bytes = [b"a,b,c\n".as_slice(), &bytes].concat();
        let properties = Some(options.properties.unwrap_or_default());
        let (format, delimiter) = (Some(Format::Csv), Some(b','));
        let line_limit_bytes = options.line_limit_bytes.max("a,b,c".len());
        let options = LoadOptions { format, delimiter, header: Some(true), properties, line_limit_bytes, ..options };
        compare(&bytes, &options, packing);
    }

    #[test]
    fn tsv(bytes in lines("\t"), options in options(), packing in packing()) {
        compare(&bytes, &LoadOptions { format: Some(Format::Tsv), ..options }, packing);
    }
}
