//! Any bytes under any name and any options: a result or an error, no panic, and no more rows than bytes.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_load::{Format, LoadOptions, NoProgress, OnError, PropertySpec, read_edges};
use evergraph_types::{KeyKind, PropertyType};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"1",
        b",",
        b"\t",
        b" ",
        b"\n",
        b"\r\n",
        b"\"",
        b";",
        b"|",
        b"#",
        b"%",
        b"-1",
        b"1e9",
        b"a",
        b"\0",
        b"\xff",
        b"src",
        b"dst",
        b"true",
        b"2024-01-02",
        b"\xef\xbb\xbf",
        b"PAR1",
        b"%%MatrixMarket",
        b"\x1f\x8b\x08\0",
        b"\x28\xb5\x2f\xfd",
        b"\xff\xfe",
    ];
    prop_oneof![vec(any::<u8>(), 0..200), vec(select(pieces), 0..80).prop_map(|pieces| pieces.concat()),]
}

fn options() -> impl Strategy<Value = LoadOptions> {
    let format = option::of(select(vec![Format::EdgeList, Format::Csv, Format::Tsv]));
    let keys = option::of(select(vec![KeyKind::Int64, KeyKind::Dense, KeyKind::Text]));
    let column = || {
        option::of(prop_oneof![
            (0..4usize).prop_map(Into::into),
            select(vec!["src", "dst", "a"]).prop_map(Into::into)
        ])
    };
    let property = (0..4usize, option::of(select(PropertyType::ALL.to_vec())))
        .prop_map(|(index, kind)| PropertySpec { column: index.into(), name: index.to_string(), kind });
    let shape = (
        format,
        option::weighted(0.2, any::<u8>()),
        option::of(any::<bool>()),
        option::of(vec(property, 0..3)),
    );
    let limits = (select(vec![0usize, 1, 7, 1 << 20]), select(vec![0usize, 1, 9, 64 << 20]), any::<bool>());
    (shape, (column(), column(), keys), limits).prop_map(
        |(
            (format, delimiter, header, properties),
            (src, dst, keys),
            (block_bytes, line_limit_bytes, skip),
        )| {
            LoadOptions {
                format,
                delimiter,
                header,
                src,
                dst,
                properties,
                keys,
                on_error: if skip { OnError::Skip } else { OnError::Raise },
                block_bytes,
                line_limit_bytes,
                ..LoadOptions::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_gives_a_result_or_an_error(
        bytes in bytes(), options in options(),
        name in select(vec!["a", "a.txt", "a.csv", "a.tsv", "a.gz", "a.csv.zst"]),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        match read_edges(&path, &options, &NoProgress) {
            Ok(parsed) => {
                prop_assert!(parsed.edges() + parsed.rejects.count <= bytes.len() as u64 + 1);
                for part in &parsed.parts {
                    prop_assert_eq!(part.src.len(), part.dst.len());
                    prop_assert!(part.columns.iter().all(|(_, column)| column.len() == part.len()));
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
