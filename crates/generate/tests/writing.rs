//! What is written parses back to the edges drawn, in every format; failures and cancels are told apart.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::cell::RefCell;
use std::io::{self, Write};
use std::ops::ControlFlow;

use evergraph_generate::{
    EDGES_PER_BLOCK, ErdosRenyi, Format, Generator, Kronecker, Model, ModelError, WriteError, write,
};

fn go_on(_edges: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn written(generator: &Generator, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(generator, format, &mut bytes, &go_on).unwrap();
    bytes
}

fn parse(text: &str, separator: char) -> Vec<(u32, u32)> {
    let pair = |line: &str| {
        let (src, dst) = line.split_once(separator).unwrap();
        (src.parse().unwrap(), dst.parse().unwrap())
    };
    text.lines().map(pair).collect()
}

#[test]
fn every_format_parses_back() {
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(13, 17)), 1).unwrap();
    let expected = generator.collect_pairs().unwrap();

    let text = String::from_utf8(written(&generator, Format::EdgeList)).unwrap();
    assert_eq!(parse(&text, ' '), expected);
    let csv = String::from_utf8(written(&generator, Format::Csv { header: false })).unwrap();
    assert_eq!(parse(&csv, ','), expected);
    let headed = String::from_utf8(written(&generator, Format::Csv { header: true })).unwrap();
    assert_eq!(headed, format!("src,dst\n{csv}"));

    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let pairs = written(&generator, Format::Pairs32);
    let decoded: Vec<_> =
        pairs.chunks_exact(8).map(|pair| (number(&pair[..4]), number(&pair[4..]))).collect();
    assert_eq!((decoded, pairs.len()), (expected.clone(), 8 * expected.len()));
}

#[test]
fn numbers_past_32_bits_are_text_only() {
    let generator =
        Generator::new(Model::ErdosRenyi(ErdosRenyi { vertices: 1 << 40, edges: 100 }), 1).unwrap();
    let text = String::from_utf8(written(&generator, Format::EdgeList)).unwrap();
    let widest = text.split_ascii_whitespace().map(|number| number.parse::<u64>().unwrap()).max();
    assert!(widest > Some(1 << 38));
    let refused = write(&generator, Format::Pairs32, &mut Vec::new(), &go_on);
    assert!(matches!(refused, Err(WriteError::Model(ModelError::TooWide { .. }))));
}

#[test]
fn an_empty_graph_is_an_empty_file() {
    let generator = Generator::new(Model::ErdosRenyi(ErdosRenyi { vertices: 1, edges: 0 }), 1).unwrap();
    assert_eq!(written(&generator, Format::EdgeList), b"");
    assert_eq!(written(&generator, Format::Csv { header: true }), b"src,dst\n");
}

#[test]
fn progress_counts_up_and_can_cancel() {
    let edges = 3 * EDGES_PER_BLOCK + 5;
    let generator = Generator::new(Model::ErdosRenyi(ErdosRenyi { vertices: 9, edges }), 1).unwrap();
    let seen = RefCell::new(Vec::new());
    let mut bytes = Vec::new();
    write(&generator, Format::EdgeList, &mut bytes, &|done| {
        seen.borrow_mut().push(done);
        ControlFlow::Continue(())
    })
    .unwrap();
    let block = EDGES_PER_BLOCK;
    assert_eq!(seen.into_inner(), [block, 2 * block, 3 * block, edges]);

    let mut partial = Vec::new();
    let stop = |done| if done >= 2 * block { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let cancelled = write(&generator, Format::EdgeList, &mut partial, &stop);
    assert!(matches!(cancelled, Err(WriteError::Cancelled { edges }) if edges == 2 * block));
    assert_eq!(partial, bytes[..partial.len()], "what was written before is a clean beginning");
}

#[test]
fn a_full_disk_is_reported_with_its_place() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(io::ErrorKind::StorageFull.into()),
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let edges = 4 * EDGES_PER_BLOCK;
    let generator = Generator::new(Model::ErdosRenyi(ErdosRenyi { vertices: 9, edges }), 1).unwrap();
    let room = 2 * 8 * EDGES_PER_BLOCK as usize + 1;
    let failed = write(&generator, Format::Pairs32, &mut Full(room), &go_on).unwrap_err();
    assert!(matches!(&failed, WriteError::Write { edges, source }
        if *edges == 2 * EDGES_PER_BLOCK && source.kind() == io::ErrorKind::StorageFull));
}
