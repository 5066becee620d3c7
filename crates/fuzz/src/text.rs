//! Files of edges as text: read in one piece and in small ones by several threads, skipped and raised, written and read
//! again; and compressed files with any bytes in them.

use std::io::Write;

use evergraph_load::{
    ColumnRef, Format, LoadOptions, NoProgress, OnError, ParsedEdges, PropertySpec, WriteOptions, read_edges,
    write_edges,
};
use evergraph_types::{Column, EdgeBatch, KeyColumn, PropertyType};

/// Reads a file with this content; the error as text.
fn load(content: &[u8], options: &LoadOptions) -> Result<ParsedEdges, String> {
    let file = tempfile::NamedTempFile::new();
    let mut file = file.unwrap_or_else(|error| panic!("no temporary file: {error}"));
    let written = file.write_all(content).and_then(|()| file.flush());
    assert!(written.is_ok(), "{written:?}");
    let parsed = read_edges(file.path(), options, &NoProgress);
    parsed.map_err(|error| error.to_string().replace(&file.path().display().to_string(), "FILE"))
}

/// All rows, whatever blocks they came in.
fn rows(parsed: &ParsedEdges) -> Vec<String> {
    let row = |part: &EdgeBatch, row: usize| {
        let values = part.columns.iter().map(|(name, column)| format!("{name}={:?}", column.get(row)));
        let ends = format!("{:?} {:?}", part.src.get(row), part.dst.get(row));
        [vec![ends], values.collect()].concat().join(" ")
    };
    parsed.parts.iter().flat_map(|part| (0..part.len()).map(move |at| row(part, at))).collect()
}

/// Any text in any format. The first byte chooses format and options.
pub fn fuzz_text(data: &[u8]) {
    let Some((&choice, content)) = data.split_first() else { return };
    let format =
        [None, Some(Format::EdgeList), Some(Format::Csv), Some(Format::Tsv)][usize::from(choice & 3)];
    let whole = LoadOptions {
        format,
        header: [None, Some(true), Some(false), None][usize::from(choice >> 2 & 3)],
        on_error: if choice & 16 == 0 { OnError::Raise } else { OnError::Skip },
        ..LoadOptions::default()
    };
    let in_pieces = LoadOptions { block_bytes: 7, threads: Some(2), ..whole.clone() };
    let (one, other) = (load(content, &whole), load(content, &in_pieces));
    match (&one, &other) {
        (Ok(one), Ok(other)) => {
            assert_eq!(rows(one), rows(other));
            assert_eq!((one.lines, &one.rejects, one.keys), (other.lines, &other.rejects, other.keys));
            assert!(one.edges() <= content.len() as u64);
        }
        (Err(one), Err(other)) => assert_eq!(one, other),
        _ => panic!("in one piece {one:?}, in small ones {other:?}"),
    }
}

/// A cell of the type timestamp: what it is read as is written and read the same.
pub fn fuzz_time(data: &[u8]) {
    read_again(PropertyType::Timestamp, data);
}

/// What a cell of a type is read as is written and read the same.
fn read_again(kind: PropertyType, cell: &[u8]) {
    let column = PropertySpec { column: ColumnRef::Index(2), name: "at".to_owned(), kind: Some(kind) };
    let options = LoadOptions {
        format: Some(Format::Csv),
        header: Some(false),
        properties: Some(vec![column]),
        ..LoadOptions::default()
    };
    let Ok(parsed) = load(&[b"1,2,", cell].concat(), &options) else { return };
    let mut written = Vec::new();
    let header = WriteOptions { header: Some(false), ..WriteOptions::default() };
    if write_edges(&mut written, &parsed.parts, &header).is_ok() {
        let again = load(&written, &options);
        let found = again.unwrap_or_else(|error| panic!("{written:?} is not read: {error}"));
        assert_eq!(rows(&found), rows(&parsed));
    }
}

/// A cell of any type: what it is read as is written and read the same. The first byte chooses the type.
pub fn fuzz_cell(data: &[u8]) {
    let Some((&choice, cell)) = data.split_first() else { return };
    read_again(PropertyType::ALL[usize::from(choice) % PropertyType::ALL.len()], cell);
}

/// A file that begins as gzip does.
pub fn fuzz_gzip(data: &[u8]) {
    let _ = load(&[b"\x1f\x8b\x08", data].concat(), &LoadOptions::default());
}

/// A file that begins as zstd does.
pub fn fuzz_zstd(data: &[u8]) {
    let _ = load(&[b"\x28\xb5\x2f\xfd", data].concat(), &LoadOptions::default());
}

/// Texts of each format.
pub(crate) fn texts() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 7] = [
        b"\x01# comment\n1 2\n2\t3\n\n-4  5\r\n% more\n9223372036854775807 0\n",
        b"\x11a b 1.5\nb c\nc\n",
        b"\x02src,dst,weight,when\n1,2,0.5,2024-01-02T03:04:05Z\n2,3,,1999-12-31\n",
        b"\x12\"a \"\"b\"\"\",\"c\nd\",true\n\"x\",y,false\nz,\n",
        b"\x03source\ttarget\tn\n1\t2\t-7\n3\t4\t+8\n",
        b"\x00from;to;note\n1;2;\"a;b\"\n",
        b"\x10\xef\xbb\xbfa,b\n1,2\n\xff,3\n",
    ];
    texts.map(<[u8]>::to_vec).to_vec()
}

/// A cell of each type, behind the number of the type.
pub(crate) fn cells() -> Vec<Vec<u8>> {
    let scalars = [
        "true",
        "-128",
        "32767",
        "-2147483648",
        "9223372036854775807",
        "255",
        "65535",
        "4294967295",
        "18446744073709551615",
        "1.5e-3",
        "-inf",
        "\"a \"\"b\"\"\"",
        "00fFa9",
        "2024-02-29",
        "1969-12-31T23:59:59.999999Z",
    ];
    let lists = [
        "[true, null]",
        "[]",
        "[1, -2]",
        "[null]",
        "[1,2,3]",
        "[0]",
        "[7 , 8]",
        "[1]",
        "[18446744073709551615]",
        "[1.5, nan]",
        "[-0.0, 1e300]",
        "[\"\"a\"\", \"\"\\u00e9\\n\"\"]",
        "[\"\"00ff\"\"]",
        "[\"\"2024-02-29\"\"]",
        "[\"\"2024-02-29T00:00:00Z\"\", null]",
    ];
    let quoted = lists.map(|list| format!("\"{list}\""));
    let all = scalars.map(str::to_owned).into_iter().chain(quoted);
    (0..).zip(all).map(|(number, cell)| [vec![number], cell.into_bytes()].concat()).collect()
}

/// Times in each form.
pub(crate) fn times() -> Vec<Vec<u8>> {
    let times: [&[u8]; 6] = [
        b"2024-02-29T23:59:59.999999+05:30",
        b"1969-12-31 00:00:00Z",
        b"1700000000",
        b"-62135596800.5",
        b"9999-12-31",
        b"1700000000000",
    ];
    times.map(<[u8]>::to_vec).to_vec()
}

fn edges() -> Vec<u8> {
    let src = KeyColumn::Int((0..500).map(|row| row % 31).collect());
    let dst = KeyColumn::Int((0..500).map(|row| row * 7 % 53).collect());
    let mut flags = Column::new(PropertyType::Bool);
    (0..500).for_each(|row| drop(flags.push((row % 3 == 0).into())));
    let batch = EdgeBatch { src, dst, columns: vec![("flag".to_owned(), flags)] };
    let mut text = Vec::new();
    let written = write_edges(&mut text, [batch], &WriteOptions::default());
    assert!(written.is_ok(), "{written:?}");
    text
}

/// A gzip file behind its first bytes.
pub(crate) fn gzipped() -> Vec<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let written = encoder.write_all(&edges()).and_then(|()| encoder.finish());
    vec![written.map(|bytes| bytes[3..].to_vec()).unwrap_or_default()]
}

/// A zstd file behind its first bytes.
pub(crate) fn zstandard() -> Vec<Vec<u8>> {
    vec![zstd::encode_all(&edges()[..], 3).map(|bytes| bytes[4..].to_vec()).unwrap_or_default()]
}
