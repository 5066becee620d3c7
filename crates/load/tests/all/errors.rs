//! Bad input, case by case: which error, where, and what it says.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::ops::ControlFlow;
use std::path::Path;

use evergraph_load::{
    ColumnRef, Format, LoadError, LoadOptions, NoProgress, OnError, ParsedEdges, Progress, PropertySpec,
    read_edges,
};
use evergraph_types::{KeyKind, MAX_TEXT_BYTES, PropertyType, ScalarType};

fn load(name: &str, bytes: &[u8], options: &LoadOptions) -> Result<ParsedEdges, LoadError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_edges(&path, options, &NoProgress)
}

fn message(name: &str, bytes: &[u8], options: &LoadOptions) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let error = read_edges(&path, options, &NoProgress).unwrap_err().to_string();
    error.replace(&format!("{}/", directory.path().display()), "")
}

/// The place and reason of the first bad line, which must be the same with small blocks and when lines are skipped.
fn first_bad(name: &str, text: impl AsRef<[u8]>, options: &LoadOptions) -> String {
    let found = match load(name, text.as_ref(), options) {
        Err(LoadError::Line { line, column, reason, .. }) => format!("{line}:{column}: {reason}"),
        other => panic!("{other:?}"),
    };
    let skip = LoadOptions { on_error: OnError::Skip, block_bytes: 1, ..options.clone() };
    let rejects = load(name, text.as_ref(), &skip).unwrap().rejects;
    let first = &rejects.kept[0];
    assert_eq!(format!("{}:{}: {}", first.line, first.column, first.reason), found);
    found
}

fn with_keys(keys: KeyKind) -> LoadOptions {
    LoadOptions { keys: Some(keys), ..LoadOptions::default() }
}

fn with_property(kind: PropertyType) -> LoadOptions {
    let column = ColumnRef::Index(2);
    let properties = Some(vec![PropertySpec { column, name: "p".to_owned(), kind: Some(kind) }]);
    LoadOptions { properties, ..LoadOptions::default() }
}

#[test]
fn numbers_of_fields() {
    let options = LoadOptions::default();
    assert_eq!(first_bad("a.txt", "1 2\n3 4 5\n", &options), "2:5: 3 fields where 2 are expected");
    assert_eq!(first_bad("a.txt", "# c\n1 2\n\n3\n", &options), "4:2: 1 field where 2 are expected");
    assert_eq!(first_bad("a.csv", "a,b,c\n1,2,3\n1,2\n", &options), "3:4: 2 fields where 3 are expected");
    assert_eq!(
        first_bad("a.csv", "a,b\n1,2\n1,2,\"x\n", &options),
        "3:5: a quoted field starts here and is not closed"
    );
    assert_eq!(first_bad("a.csv", "a,b\n1,2\n1,2,\"x\"\n", &options), "3:5: 3 fields where 2 are expected");
    // The first line with enough fields sets the number; the title above it is what is wrong.
    assert_eq!(first_bad("a.txt", "edges\n1 2\n3 4\n", &options), "1:6: 1 field where 2 are expected");
}

#[test]
fn keys_that_are_not_of_the_declared_kind() {
    let int = with_keys(KeyKind::Int64);
    assert_eq!(first_bad("a.txt", "1 2\n3 x4\n", &int), "2:3: the vertex key \"x4\" is not an integer");
    assert_eq!(first_bad("a.txt", "1 2\n1.5 3\n", &int), "2:1: the vertex key \"1.5\" is not an integer");
    assert_eq!(
        first_bad("a.txt", "1 2\n9223372036854775808 3\n", &int),
        "2:1: the vertex key 9223372036854775808 is out of the range of int64"
    );
    assert_eq!(first_bad("a.csv", "a,b\n1,2\n1,\n", &int), "3:3: the vertex key is empty");
    let dense = with_keys(KeyKind::Dense);
    let id = "is no dense id: these are from 0 to 4294967293";
    assert_eq!(
        first_bad("a.txt", "1 4294967293\n2 4294967294\n1 2\n1 2\n", &dense),
        format!("2:3: the vertex key 4294967294 {id}")
    );
    assert_eq!(first_bad("a.txt", "1 2\n-1 4\n", &dense), format!("2:1: the vertex key -1 {id}"));
    let huge = "99999999999999999999";
    assert_eq!(
        first_bad("a.txt", format!("1 2\n{huge} 4\n"), &dense),
        format!("2:1: the vertex key {huge} {id}")
    );
}

#[test]
fn keys_that_are_no_text() {
    let options = with_keys(KeyKind::Text);
    assert_eq!(first_bad("a.txt", "a b\nc d\0e\n", &options), "2:4: a NUL byte");
    assert_eq!(first_bad("a.txt", b"a b\nc\xff d\n", &options), "2:2: bytes that are not UTF-8");
    assert_eq!(first_bad("a.csv", "a,b\nx,y\nx,\"\"\n", &options), "3:3: the vertex key is empty");
    // Inferred keys are held to the same: a NUL does not make the keys of the file strings.
    let inferred = LoadOptions { on_error: OnError::Skip, ..LoadOptions::default() };
    let parsed = load("a.txt", b"1 2\n3 \x004\n5 6\n", &inferred).unwrap();
    assert_eq!((parsed.keys, parsed.edges(), parsed.rejects.count), (KeyKind::Int64, 2, 1));
}

#[test]
fn values_that_are_not_of_the_declared_type() {
    let cases = [
        (PropertyType::Int64, "1.5", "\"1.5\" is no int64"),
        (PropertyType::Float64, "1,5", "\"1,5\" is no float64"),
        (PropertyType::Bool, "yes", "\"yes\" is no bool"),
        (PropertyType::Timestamp, "2024-02-30", "\"2024-02-30\" is no timestamp"),
        (PropertyType::Date, "2024-02-30", "\"2024-02-30\" is no date"),
        (PropertyType::Int8, "128", "\"128\" is no int8"),
        (PropertyType::UInt64, "-1", "\"-1\" is no uint64"),
        (PropertyType::Float32, "1e39", "\"1e39\" is no float32"),
        (PropertyType::Bytes, "abc", "\"abc\" is no bytes"),
        (PropertyType::list(ScalarType::Int8), "[1,300]", "\"[1,300]\" is no list<int8>"),
    ];
    for (kind, value, reason) in cases {
        let found = first_bad("a.txt", format!("1 2 {}\n3 4 {value}\n", good(kind)), &with_property(kind));
        assert_eq!(found, format!("2:5: {reason}, the type of property \"p\""));
    }
    let found = first_bad("a.txt", b"1 2 x\n3 4 y\xc3\n", &with_property(PropertyType::String));
    assert_eq!(found, "2:6: bytes that are not UTF-8");
}

fn good(kind: PropertyType) -> &'static str {
    match kind {
        PropertyType::Bool => "true",
        PropertyType::Timestamp | PropertyType::Date => "2024-02-29",
        PropertyType::String => "x",
        PropertyType::Bytes => "00ff",
        kind if kind.is_number() => "1",
        _ => "[1,null,3]",
    }
}

#[test]
fn quotes() {
    let options = LoadOptions { header: Some(true), ..LoadOptions::default() };
    let unclosed = "a quoted field starts here and is not closed";
    assert_eq!(first_bad("a.csv", "a,b\n1,2\n3,\"4\n5,6\n", &options), format!("3:3: {unclosed}"));
    assert_eq!(
        first_bad("a.csv", "a,b\n1,2\n\"3\"x,4\n", &options),
        "3:4: text after a closing quote (a quote inside a field is doubled)"
    );
    // The place counts lines inside quotes as well.
    assert_eq!(
        first_bad("a.csv", "a,b\n\"1\n2\",3\n\"4\n\"5,6\n", &options),
        "5:2: text after a closing quote (a quote inside a field is doubled)"
    );
}

const CARRIAGE_RETURN: &str = "a carriage return (CR) without a line feed (LF), the line end of old Macs; \
    convert the line ends to LF, as `tr '\\r' '\\n'` does";

#[test]
fn carriage_returns_that_end_no_line() {
    let of = |name: &str, text: &str| first_bad(name, text, &LoadOptions::default());
    for (name, text, place) in [
        ("a.csv", "src,dst\n1,2\r3,4\n5,6\n", "2:4"),
        ("a.csv", "src,dst,note\n1,2,x\n1,2,\"x\"\r3,4,y\n", "3:8"),
        ("a.txt", "1 2\r\n3 4\r5 6\n", "2:4"),
        ("a.txt", "1 2\n# note\r3 4\n", "2:7"),
        // A column that nobody asked for is no hiding place.
        ("a.txt", "1 2 x\n1 2 x\ry\n", "2:6"),
        ("a.edges", "1,2,x\n1,2,x\ry\n", "2:6"),
    ] {
        assert_eq!(of(name, text), format!("{place}: {CARRIAGE_RETURN}"), "{text:?}");
    }
    let kept = load("a.csv", b"src,dst,note\r\n1,2,\"x\ry\"\r\n3,4,\r\n5,6,z\r", &LoadOptions::default());
    assert_eq!(kept.unwrap().parts[0].columns[0].1.get(0), "x\ry".into());
}

#[test]
fn a_file_with_the_line_ends_of_old_macs() {
    let named = LoadOptions { src: Some("src".into()), ..LoadOptions::default() };
    for (name, text, options, place) in [
        ("mac.csv", "src,dst\r1,2\r3,4\r", &LoadOptions::default(), "1:8: a"),
        ("mac.csv", "src,dst\r1,2\r3,4\r", &named, "1:8: in the header: a"),
        ("cr.txt", "1 2\r3 4\r", &LoadOptions::default(), "1:4: a"),
        ("cr.txt", "# 1 2\r3 4\r", &LoadOptions::default(), "1:6: a"),
    ] {
        for on_error in [OnError::Raise, OnError::Skip] {
            let found = message(name, text.as_bytes(), &LoadOptions { on_error, ..options.clone() });
            assert!(found.starts_with(&format!("{name}:{place} carriage return (CR)")), "{found}");
        }
    }
}

#[test]
fn values_and_keys_that_are_too_long() {
    let (longest, longer) = ("x".repeat(MAX_TEXT_BYTES), "x".repeat(MAX_TEXT_BYTES + 1));
    let reason = "a key or value of 1048577 bytes, 1048576 are allowed; keep what is long in files and their names here";
    let of = |name: &str, text: String, options: &LoadOptions| first_bad(name, text, options);
    let options = LoadOptions::default();
    let text = format!("src,dst,note\n1,2,{longest}\n1,2,{longer}\n1,2,x\n");
    assert_eq!(of("a.csv", text, &options), format!("3:5: {reason}"));
    let text = format!("a b\n{longest} b\na {longer}\n");
    assert_eq!(of("a.txt", text, &options), format!("3:3: {reason}"));
    assert_eq!(of("a.txt", format!("1 2\n1 {longer}\n"), &options), format!("2:3: {reason}"));
    let text = format!("1 2 {longest}\n1 2 {longer}\n");
    assert_eq!(of("a.txt", text, &with_property(PropertyType::String)), format!("2:5: {reason}"));
    let bytes = "0f".repeat(MAX_TEXT_BYTES);
    let text = format!("1 2 {bytes}\n1 2 {bytes}0f\n");
    assert_eq!(of("a.txt", text, &with_property(PropertyType::Bytes)), format!("2:5: {reason}"));
    // A doubled quote is one byte.
    let text = format!("src,dst,note\n1,2,\"\"\"{}\"\n", &longest[1..]);
    assert_eq!(load("a.csv", text.as_bytes(), &options).unwrap().edges(), 1);
}

#[test]
fn a_stray_quote_costs_one_line() {
    let options = LoadOptions { on_error: OnError::Skip, ..LoadOptions::default() };
    let parsed = load("a.csv", b"a,b\n1,2\n\"3,4\n5,6\n7,8\n", &options).unwrap();
    assert_eq!((parsed.edges(), parsed.rejects.count, parsed.rejects.kept[0].line), (3, 1, 3));
}

#[test]
fn long_lines() {
    let options = LoadOptions { line_limit_bytes: 10, on_error: OnError::Skip, ..LoadOptions::default() };
    let text = format!("1 2\n1 {}\n3 4\n1 {}", "9".repeat(9), "9".repeat(100_000));
    for block_bytes in [1, 7, 1 << 20] {
        let options = LoadOptions { block_bytes, ..options.clone() };
        let parsed = load("a.txt", text.as_bytes(), &options).unwrap();
        assert_eq!((parsed.edges(), parsed.rejects.count, parsed.lines), (2, 2, 4));
        assert_eq!(parsed.rejects.kept[0].reason, "longer than the 10 bytes a line may have");
        assert_eq!((parsed.rejects.kept[0].line, parsed.rejects.kept[1].line), (2, 4));
        assert!(parsed.rejects.kept[1].text.len() < 200, "the text is clipped");
    }
}

#[test]
fn missing_columns() {
    let named = |name: &str| LoadOptions { dst: Some(name.into()), ..LoadOptions::default() };
    assert_eq!(
        message("a.csv", b"src,dest\n1,2\n", &named("dst")),
        "a.csv: there is no column \"dst\"; there are [\"src\", \"dest\"]"
    );
    let indexed = LoadOptions { dst: Some(3.into()), ..LoadOptions::default() };
    assert_eq!(
        message("a.txt", b"1 2 3\n", &indexed),
        "a.txt: there is no column number 3 (counted from 0); there are [\"0\", \"1\", \"2\"]"
    );
    assert_eq!(
        message("a.txt", b"1\n2\n", &LoadOptions::default()),
        "a.txt: there is no column number 1 (counted from 0); there are [\"0\"]"
    );
    let no_header = LoadOptions { header: Some(false), ..named("dst") };
    assert_eq!(
        message("a.csv", b"src,dst\n1,2\n", &no_header),
        "a.csv: there is no column \"dst\"; there are [\"0\", \"1\"]"
    );
}

#[test]
fn files_without_edges() {
    for text in ["", "\n\n", "# only\n% comments", "\u{feff}", "\r\n"] {
        let error = load("a.txt", text.as_bytes(), &LoadOptions::default());
        assert!(matches!(error, Err(LoadError::Empty { .. })), "{text:?}: {error:?}");
    }
    assert_eq!(
        message("a.csv", b"src,dst\n", &LoadOptions::default()),
        "a.csv: there is no edge in this file"
    );
}

#[test]
fn places_that_are_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let of = |path: &Path| read_edges(path, &LoadOptions::default(), &NoProgress).unwrap_err();
    let LoadError::Open { source, .. } = of(directory.path()) else { panic!() };
    assert_eq!(source.kind(), std::io::ErrorKind::IsADirectory);
    let LoadError::Open { source, .. } = of(&directory.path().join("absent")) else { panic!() };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    assert!(matches!(of(Path::new("/dev/null")), LoadError::Unsupported { .. }));
}

#[test]
fn formats_that_are_not_read() {
    let pairs: Vec<u8> = (0..100_u32).flat_map(|key| (key * 0x9_1013 % (1 << 20)).to_le_bytes()).collect();
    let utf_16: Vec<u8> = "src,dst\n1,2\n3,4\n".repeat(9).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&str, &[u8]); 11] = [
        ("a.parquet", b"PAR1...."),
        ("a.txt", b"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 0.5\n"),
        ("a.mtx", b"1 2\n"),
        ("a.graphml", b"<?xml version=\"1.0\"?>"),
        ("a.jsonl", b"{\"src\": 1}\n"),
        ("a.csv", b"\xff\xfes\0r\0c\0"),
        ("a.txt.bz2", b"BZh91AY"),
        ("a.zip", b"PK\x03\x04"),
        ("pairs.bin", &pairs),
        ("pairs.txt", &pairs),
        ("a.csv", &utf_16),
    ];
    for (name, bytes) in cases {
        let error = load(name, bytes, &LoadOptions::default());
        assert!(matches!(error, Err(LoadError::Unsupported { .. })), "{name}: {error:?}");
    }
    // A line with zero bytes is a bad line, and the others are read.
    let mut text = b"1,2\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0,3\n".to_vec();
    text.extend_from_slice(&b"4,5\n".repeat(50));
    let skip = LoadOptions { on_error: OnError::Skip, ..LoadOptions::default() };
    assert_eq!(load("a.csv", &text, &skip).map(|edges| edges.edges()).ok(), Some(51));
}

#[test]
fn options_that_make_no_sense() {
    let delimiter =
        |delimiter, format| LoadOptions { delimiter: Some(delimiter), format, ..LoadOptions::default() };
    for options in [
        delimiter(b'\n', None),
        delimiter(b'"', Some(Format::Csv)),
        delimiter(b'#', Some(Format::EdgeList)),
        delimiter(0xe9, None),
    ] {
        assert!(matches!(load("a.csv", b"1,2\n", &options), Err(LoadError::Option { .. })), "{options:?}");
    }
    let same = LoadOptions { src: Some("w".into()), dst: Some(2.into()), ..LoadOptions::default() };
    assert_eq!(
        message("a.csv", b"src,dst,w\n1,2,3\n", &same),
        "a.csv: dst: column number 2 (counted from 0) is that of the source keys already; name another one"
    );
    let twice = load("a.csv", b"src,dst,w,w\n1,2,3,4\n", &LoadOptions::default());
    assert!(matches!(twice, Err(LoadError::Option { option: "properties", .. })), "{twice:?}");
}

#[test]
fn messages_say_where_and_what_to_do() {
    assert_eq!(
        message("a.csv", b"src,dst\n1,2\n1,x\n", &with_keys(KeyKind::Int64)),
        "a.csv:3:3: the vertex key \"x\" is not an integer, in \"1,x\"; mend the line, or skip bad lines with \
         on_error=\"skip\""
    );
}

#[test]
fn no_more_rejects_are_kept_than_asked_for() {
    let text = "1 2\n".to_owned() + &"x\n".repeat(1000);
    for block_bytes in [1, 64, 1 << 20] {
        let options = LoadOptions {
            on_error: OnError::Skip,
            max_rejects_kept: 7,
            block_bytes,
            ..LoadOptions::default()
        };
        let rejects = load("a.txt", text.as_bytes(), &options).unwrap().rejects;
        assert_eq!(rejects.count, 1000);
        assert_eq!(
            rejects.kept.iter().map(|reject| reject.line).collect::<Vec<_>>(),
            (2..9).collect::<Vec<_>>()
        );
    }
}

struct StopAfter(u64);

impl Progress for StopAfter {
    fn update(&self, done_bytes: u64, total_bytes: Option<u64>) -> ControlFlow<()> {
        assert!(total_bytes.is_some_and(|total| done_bytes <= total));
        if done_bytes > self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_read_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.txt");
    std::fs::write(&path, "1 2\n".repeat(10_000)).unwrap();
    let options = LoadOptions { block_bytes: 16, ..LoadOptions::default() };
    assert!(matches!(read_edges(&path, &options, &StopAfter(5_000)), Err(LoadError::Cancelled { .. })));
    assert!(read_edges(&path, &options, &StopAfter(40_000)).is_ok());
}
