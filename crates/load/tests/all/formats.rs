//! What is found out about a file that nothing is said about.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_load::{ColumnRef, Format, LoadOptions, NoProgress, ParsedEdges, PropertySpec, read_edges};
use evergraph_types::{Column, KeyKind, PropertyType, Value};

fn load_with(name: &str, text: &str, options: &LoadOptions) -> ParsedEdges {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    read_edges(&path, options, &NoProgress).unwrap()
}

fn load(name: &str, text: &str) -> ParsedEdges {
    load_with(name, text, &LoadOptions::default())
}

fn first_edge(parsed: &ParsedEdges) -> String {
    format!("{} {}", parsed.parts[0].src.get(0), parsed.parts[0].dst.get(0))
}

#[test]
fn format_and_delimiter() {
    for (name, text, format) in [
        ("a.txt", "1 2\n", Format::EdgeList),
        ("a.txt", "# comment, with commas\n1\t2\n", Format::EdgeList),
        ("a.txt", "  1   2  \r\n", Format::EdgeList),
        ("a.edges", "1,2\n", Format::Csv),
        ("a.txt", "1 , 2\n", Format::Csv),
        ("a.txt", "1;2\n", Format::Csv),
        ("a.csv", "1,2\n", Format::Csv),
        ("a.csv", "1;2\n", Format::Csv),
        ("a.csv", "1 2\n", Format::EdgeList),
        ("a.csv", "1\t2\n", Format::Csv),
        ("A.TSV", "1\t2\n", Format::Tsv),
        ("a.tsv", "1 2\n", Format::EdgeList),
        ("a.csv", "# made by a program; on a day\n1,2\n", Format::Csv),
        ("a", "\u{feff}1 2\n", Format::EdgeList),
    ] {
        let parsed = load(name, text);
        assert_eq!((parsed.format, first_edge(&parsed).as_str()), (format, "1 2"), "{name} {text:?}");
    }
}

#[test]
fn what_is_said_wins() {
    let options = LoadOptions { format: Some(Format::EdgeList), ..LoadOptions::default() };
    assert_eq!(first_edge(&load_with("a.csv", "1,5 2\n", &options)), "\"1,5\" \"2\"");
    let options = LoadOptions { delimiter: Some(b':'), ..LoadOptions::default() };
    assert_eq!(first_edge(&load_with("a.txt", "1:2\n", &options)), "1 2");
    let options = LoadOptions { header: Some(false), ..LoadOptions::default() };
    assert_eq!(first_edge(&load_with("a.csv", "src,dst\n1,2\n", &options)), "\"src\" \"dst\"");
    let options = LoadOptions { header: Some(true), ..LoadOptions::default() };
    assert_eq!(first_edge(&load_with("a.csv", "1,2\n3,4\n", &options)), "3 4");
}

#[test]
fn headers() {
    let header = |name, text| load(name, text).header.map(|names| names.join("|"));
    assert_eq!(header("a.csv", "from, to ,\"a \"\"b\"\"\"\n1,2,3\n").as_deref(), Some("from|to|a \"b\""));
    assert_eq!(header("a.csv", "1,2\n3,4\n"), None);
    assert_eq!(header("a.csv", "x,y,0.5\nz,w,1\n"), None);
    assert_eq!(header("a.csv", "x,y,99999999999999999999\nz,w,1\n"), None);
    assert_eq!(header("a.csv", "x,y,2024-01-02\nz,w,2024-01-02\n"), None);
    assert_eq!(header("a.tsv", "x\ty\nz\tw\n").as_deref(), Some("x|y"));
    assert_eq!(header("a.txt", "x y\nz w\n"), None);
    assert_eq!(header("a.txt", "x y\n1 2\n").as_deref(), Some("x|y"));
}

#[test]
fn comments_above_a_table() {
    let loaded = |text: &str| {
        let parsed = load("a.csv", text);
        let header = parsed.header.as_ref().map(|names| names.join("|")).unwrap_or_default();
        (header, first_edge(&parsed), parsed.lines)
    };
    let of = |header: &str, edge: &str, lines| (header.to_owned(), edge.to_owned(), lines);
    assert_eq!(loaded("# by a, and b\n\n#\nsrc,dst,w\n1,2,3\n"), of("src|dst|w", "1 2", 5));
    assert_eq!(loaded("# made by hand\n1,2\n3,4\n"), of("", "1 2", 3));
    assert_eq!(loaded("# made by hand\n#src,dst\n1,2\n"), of("#src|dst", "1 2", 3));
    // Keys that begin like a comment.
    assert_eq!(loaded("#a,1\nc,2\n"), of("", "\"#a\" \"1\"", 2));
    assert_eq!(loaded("#a,#b,1\n#c,#d,2\n"), of("", "\"#a\" \"#b\"", 2));
    assert_eq!(loaded("\"#a\",b,1\nc,d,2\n"), of("", "\"#a\" \"b\"", 2));
}

#[test]
fn the_columns_of_keys() {
    for (header, edge) in [
        ("a,b,c", "1 2"),
        ("id,source,target", "2 3"),
        ("Target,Id,Source", "3 1"),
        ("dst,src,c", "2 1"),
        ("from,x,to", "1 3"),
        ("src,x,y", "1 2"),
    ] {
        assert_eq!(first_edge(&load("a.csv", &format!("{header}\n1,2,3\n"))), edge, "{header}");
    }
    let options = LoadOptions { src: Some("c".into()), dst: Some(0.into()), ..LoadOptions::default() };
    let parsed = load_with("a.csv", "a,b,c\n1,2,3\n", &options);
    assert_eq!(first_edge(&parsed), "3 1");
    assert_eq!(parsed.parts[0].columns[0].0, "b");
    let options = LoadOptions { src: Some(1.into()), ..LoadOptions::default() };
    assert_eq!(first_edge(&load_with("a.txt", "1 2\n", &options)), "2 1");
}

#[test]
fn the_columns_of_properties() {
    let parsed = load("a.csv", "src,dst,w,\n1,2,0.5,x\n");
    let names: Vec<_> = parsed.parts[0].columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["w", "column3"]);
    assert!(load("a.txt", "1 2 3\n").parts[0].columns.is_empty(), "without a header none is taken unasked");
    let spec = |column: ColumnRef, kind| PropertySpec { column, name: "time".to_owned(), kind };
    let options = LoadOptions { properties: Some(vec![spec(2.into(), None)]), ..LoadOptions::default() };
    let parsed = load_with("a.txt", "1 2 1082040961\n", &options);
    assert_eq!(parsed.parts[0].columns[0].1.get(0), Value::Int(1_082_040_961));
    let kind = Some(PropertyType::Timestamp);
    let options = LoadOptions { properties: Some(vec![spec(2.into(), kind)]), ..LoadOptions::default() };
    let parsed = load_with("a.txt", "1 2 1082040961\n3 4 1970-01-01T00:00:01\n", &options);
    let times = &parsed.parts[0].columns[0].1;
    assert_eq!(*times, Column::timestamps(vec![1_082_040_961, 1_000_000]));
}

#[test]
fn types_come_from_all_values() {
    let cases = [
        ("1,-2,", PropertyType::Int64),
        ("1,2.5,", PropertyType::Float64),
        ("1,18446744073709551615", PropertyType::UInt64),
        ("18446744073709551615,,-0", PropertyType::UInt64),
        ("-1,9223372036854775808", PropertyType::Float64),
        ("9223372036854775808,-1", PropertyType::Float64),
        ("1,18446744073709551616", PropertyType::Float64),
        ("9007199254740992,0.5,-1", PropertyType::Float64),
        // No type of numbers tells them from their neighbors.
        ("1,99999999999999999999", PropertyType::String),
        ("99999999999999999999,1", PropertyType::String),
        ("-1,18446744073709551615", PropertyType::String),
        ("18446744073709551615,-1", PropertyType::String),
        ("9007199254740993,0.5", PropertyType::String),
        ("0.5,9007199254740993", PropertyType::String),
        ("true,False,", PropertyType::Bool),
        ("2024-01-02,2024-01-02T03:04:05Z", PropertyType::Timestamp),
        ("2024-01-02,1", PropertyType::String),
        ("1,x", PropertyType::String),
        ("true,1", PropertyType::String),
        (",", PropertyType::String),
    ];
    for (values, kind) in cases {
        let rows: String = values.split(',').map(|value| format!("1,2,{value}\n")).collect();
        for block_bytes in [1, 1 << 20] {
            let options = LoadOptions { block_bytes, ..LoadOptions::default() };
            let parsed = load_with("a.csv", &format!("src,dst,p\n{rows}"), &options);
            let kinds: Vec<_> = parsed.parts.iter().map(|part| part.columns[0].1.property_type()).collect();
            assert!(kinds.iter().all(|found| *found == kind), "{values}: {kinds:?}");
            if !values.contains('.') && kind.is_number() {
                let column = parsed.parts.iter().map(|part| part.columns[0].1.get(0).to_string());
                let first = column.into_iter().next();
                let same = values.split(',').next().and_then(|value| value.parse::<f64>().ok());
                assert_eq!(first.and_then(|value| value.parse::<f64>().ok()), same, "{values}");
            }
        }
    }
}

#[test]
fn one_key_that_is_no_number_makes_all_strings_and_is_named() {
    let numbers: String = (0..1000).map(|number| format!("{number} 00{number}\n")).collect();
    let text = format!("# comment\n{numbers}7 x7\n{numbers}");
    for block_bytes in [100, 1 << 20] {
        let options = LoadOptions { block_bytes, ..LoadOptions::default() };
        let parsed = load_with("a.txt", &text, &options);
        assert_eq!(parsed.keys, KeyKind::Text);
        assert_eq!(first_edge(&parsed), "\"0\" \"000\"", "earlier keys keep their text");
        let key = parsed.not_numeric.unwrap();
        assert_eq!((key.line, key.column, key.text.as_str()), (1002, 3, "7 x7"));
    }
    assert_eq!(load("a.txt", "1 2\n").not_numeric, None);
}

#[test]
fn empty_is_missing_and_quoted_empty_is_text() {
    let parsed = load("a.csv", "src,dst,s,n\n1,2,,\n1,2,\"\",\"\"\n1,2,x,5\n");
    let column =
        |position: usize| (0..3).map(|row| parsed.parts[0].columns[position].1.get(row)).collect::<Vec<_>>();
    assert_eq!(column(0), [Value::Null, Value::Text(String::new()), Value::Text("x".to_owned())]);
    assert_eq!(column(1), [Value::Null, Value::Null, Value::Int(5)]);
}

#[test]
fn blanks_are_missing_among_numbers_and_text_among_text() {
    let column = |rows: &str, block_bytes| {
        let options = LoadOptions { block_bytes, ..LoadOptions::default() };
        let parsed = load_with("a.csv", &format!("src,dst,p\n{rows}"), &options);
        let of_part = |part: &evergraph_types::EdgeBatch| {
            (0..part.len()).map(|row| part.columns[0].1.get(row)).collect::<Vec<_>>()
        };
        parsed.parts.iter().flat_map(of_part).collect::<Vec<_>>()
    };
    let text = |text: &str| Value::Text(text.to_owned());
    for block_bytes in [1, 1 << 20] {
        assert_eq!(column("1,2, \n1,2,5\n", block_bytes), [Value::Null, Value::Int(5)]);
        assert_eq!(column("1,2, \n1,2,x\n", block_bytes), [text(" "), text("x")]);
        assert_eq!(column("1,2, \n1,2,\n", block_bytes), [text(" "), Value::Null]);
    }
    // Wherever the sample and the blocks end.
    for block_bytes in 1..40 {
        let found = column(&("1,2,\n".repeat(4) + "1,2, \n1,2,x\n"), block_bytes);
        assert_eq!(found[4..], [text(" "), text("x")]);
    }
}

#[test]
fn threads_do_not_change_the_result() {
    let text: String = (0..5000).map(|row| format!("{row} {}\n", row % 77)).collect();
    let with = |threads| LoadOptions { threads, block_bytes: 1000, ..LoadOptions::default() };
    let one = load_with("a.txt", &text, &with(Some(1)));
    assert_eq!(one, load_with("a.txt", &text, &with(Some(5))));
    assert_eq!(one, load_with("a.txt", &text, &with(None)));
}
