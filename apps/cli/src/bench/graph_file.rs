//! The graph of the benchmark as a text edge list, made once and kept for the next run.
//!
//! Self loops are left out, for the yardstick has none: what one side would skip, the other need not store.

use std::fs;
use std::path::{Path, PathBuf};

use evergraph::generate::{Generator, Kronecker, Model};
use evergraph::load::{Format, WriteOptions, write_edges};
use evergraph::{EdgeBatch, KeyColumn};

use crate::error::CommandError;
use crate::output_file::{OutputFile, named};
use crate::progress::Activity;

const SEED: u64 = 1;

/// The file with the Kronecker graph of this size in a directory; written now if it is not there.
pub(super) fn ensure(directory: &Path, scale: u32, edges_per_vertex: u64) -> Result<PathBuf, CommandError> {
    let path = directory.join(format!("kronecker-{scale}-{edges_per_vertex}-{SEED}.txt"));
    if path.is_file() {
        return Ok(path);
    }
    fs::create_dir_all(directory).map_err(CommandError::file(directory))?;
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(scale, edges_per_vertex)), SEED)?;
    let activity = Activity::of_steps("generating", generator.num_blocks());
    let batches = (0..generator.num_blocks()).map(|block| {
        activity.set(block);
        let edges = generator.block(block);
        let edges = edges.into_iter().filter(|(src, dst)| src != dst);
        let (src, dst) = edges.map(|(src, dst)| (src as i64, dst as i64)).unzip();
        EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns: Vec::new() }
    });
    let mut file = OutputFile::create(&path, false)?;
    let options = WriteOptions { format: Format::EdgeList, delimiter: Some(b' '), ..WriteOptions::default() };
    write_edges(&mut file, batches, &options).map_err(|error| named(&path)(error.into()))?;
    file.finish().map_err(named(&path))?;
    Ok(path)
}
