//! Compressed files: equal to plain ones, and what is said of damaged ones.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::io::Write;

use evergraph_load::{LoadError, LoadOptions, NoProgress, OnError, ParsedEdges, read_edges};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn load(name: &str, bytes: &[u8], options: &LoadOptions) -> Result<ParsedEdges, LoadError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_edges(&path, options, &NoProgress)
}

fn text(rows: u64) -> String {
    (0..rows).map(|row| format!("{} {} {}\n", row * 7919 % 10_007, row * 104_729 % 10_007, row)).collect()
}

/// All edges in one list.
fn edges(parsed: &ParsedEdges) -> Vec<String> {
    let of_part = |part: &evergraph_types::EdgeBatch| {
        (0..part.len()).map(|row| format!("{} {}", part.src.get(row), part.dst.get(row))).collect::<Vec<_>>()
    };
    parsed.parts.iter().flat_map(of_part).collect()
}

#[test]
fn compressed_files_hold_the_same_edges() {
    let text = text(50_000);
    let text = text.as_bytes();
    let thirds = text.chunks(text.len() / 3);
    let options = LoadOptions { block_bytes: 10_000, ..LoadOptions::default() };
    let plain = load("a.txt", text, &options).unwrap();
    assert_eq!(plain.edges(), 50_000);
    for (name, bytes) in [
        ("a.txt.gz", gzip(text)),
        ("members.txt.gz", thirds.clone().flat_map(gzip).collect()),
        ("a.txt.zst", zstd::encode_all(text, 3).unwrap()),
        ("frames.zst", thirds.flat_map(|third| zstd::encode_all(third, 3).unwrap()).collect()),
        ("no_extension", gzip(text)),
    ] {
        let packed = load(name, &bytes, &options).unwrap();
        assert_eq!(edges(&packed), edges(&plain), "{name}");
        assert_eq!(packed.lines, 50_000);
    }
}

#[test]
fn files_that_are_cut_off() {
    let text = text(50_000);
    for (name, bytes) in
        [("a.txt.gz", gzip(text.as_bytes())), ("a.txt.zst", zstd::encode_all(text.as_bytes(), 3).unwrap())]
    {
        for kept in [5, bytes.len() / 2, bytes.len() - 1] {
            for on_error in [OnError::Raise, OnError::Skip] {
                let options = LoadOptions { on_error, ..LoadOptions::default() };
                let error = load(name, &bytes[..kept], &options).unwrap_err();
                let LoadError::Decompress { line, offset, .. } = error else {
                    panic!("{name}, {kept}: {error}")
                };
                assert!(line <= 50_000 && offset as usize <= kept, "{line}, {offset}");
                assert!(kept < 10 || line > 10_000, "the lines before the damage are counted: {line}");
            }
        }
    }
}

#[test]
fn a_bad_line_before_the_damage_comes_first() {
    let text = format!("1 2\nbad\n{}", text(50_000).replace(" 4\n", "\n"));
    let bytes = gzip(text.as_bytes());
    let error = load("a.txt.gz", &bytes[..bytes.len() / 2], &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, LoadError::Line { line: 2, .. }), "{error}");
}

#[test]
fn files_with_flipped_bits() {
    let text = text(20_000);
    let good = gzip(text.as_bytes());
    for position in (2..good.len()).step_by(good.len() / 40) {
        let mut bytes = good.clone();
        bytes[position] ^= 0x10;
        match load("a.txt.gz", &bytes, &LoadOptions::default()) {
            Err(LoadError::Decompress { .. } | LoadError::Line { .. } | LoadError::MissingColumn { .. }) => {}
            // Header fields such as the time of writing mean nothing; all that is text is under the checksum.
            Ok(parsed) => assert!(position < 10 && parsed.edges() == 20_000, "{position}"),
            Err(error) => panic!("{position}: {error}"),
        }
    }
}

#[test]
fn files_that_are_not_what_their_name_says() {
    for name in ["a.txt.gz", "a.csv.zst"] {
        let error = load(name, b"1 2\n", &LoadOptions::default()).unwrap_err();
        assert!(matches!(error, LoadError::Decompress { offset: 0, .. }), "{error}");
    }
    for (name, bytes) in
        [("a.gz", gzip(b"")), ("b.zst", zstd::encode_all(&b""[..], 1).unwrap()), ("c.gz", Vec::new())]
    {
        assert!(
            matches!(load(name, &bytes, &LoadOptions::default()), Err(LoadError::Empty { .. })),
            "{name}"
        );
    }
}
