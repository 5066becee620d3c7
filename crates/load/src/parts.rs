//! A file that is read part by part: for those who cannot or will not have all of it in memory, and for going on where
//! an earlier reading ended.
//!
//! ```text
//!  survey ─► types of keys and columns, from all of the file ─► options that leave nothing to guess
//!  read_edges_in_parts ─► window, place ─► window, place ─► …    place: bytes, lines, and a checksum of all before
//! ```
//!
//! Invariant: the windows together are what [`read_edges`](crate::read_edges) gives, in the same order, wherever the
//! reading was interrupted and gone on with.

use std::ops::ControlFlow;
use std::path::Path;

use evergraph_types::{EdgeBatch, KeyKind};

use crate::parsed::{PartsSummary, Place, Reject};
use crate::read::{Pass, Take, in_pool, look, read_until_guesses_hold};
use crate::source::Source;
use crate::{ColumnRef, LoadError, LoadOptions, Progress, PropertySpec};

/// What a survey found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Survey {
    /// The options given, with everything said that they left to be found out.
    pub options: LoadOptions,
    /// The first key that is no int64, where that made the kind of keys string by inference.
    pub not_numeric: Option<Reject>,
}

/// Finds out the format of a file, the kind of its keys, and its properties with their types. Where types are left to be
/// inferred all of the file is read, for any line may refute a guess.
///
/// # Errors
/// Those of [`read_edges`](crate::read_edges).
pub fn survey(path: &Path, options: &LoadOptions, progress: &dyn Progress) -> Result<Survey, LoadError> {
    in_pool(path, options, || {
        let source = Source::open(path)?;
        let mut sniffed = look(&source, options)?;
        let (kinds, not_numeric) = read_until_guesses_hold(&mut sniffed, |sniffed| {
            let plan = &sniffed.plan;
            let guesses_keys = plan.keys_inferred && plan.keys == KeyKind::Int64;
            if !guesses_keys && plan.properties.iter().all(|property| property.declared) {
                return Ok(plan.properties.iter().filter_map(|property| property.kind).collect());
            }
            let mut take = Take::Types;
            let mut pass = Pass::new(&source, options, progress, sniffed, &mut take);
            pass.read()?;
            pass.column_types()
        })?;
        let properties = sniffed.plan.properties.iter().zip(kinds).map(|(property, kind)| PropertySpec {
            column: ColumnRef::Index(property.field),
            name: property.name.clone(),
            kind: Some(kind),
        });
        let options = LoadOptions {
            format: Some(sniffed.format),
            header: Some(sniffed.header.is_some()),
            properties: Some(properties.collect()),
            keys: Some(sniffed.plan.keys),
            ..options.clone()
        };
        Ok(Survey { options, not_numeric })
    })
}

/// Reads the edges of a text file window by window, each some megabytes, from the start or from a place where an earlier
/// reading has been. `take` is given the edges of a window and the place behind it; `Break` ends the reading. The types of
/// keys and properties must be said, as [`survey`] does.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("edges.txt");
/// use std::ops::ControlFlow;
///
/// use evergraph_load::{LoadOptions, NoProgress, read_edges_in_parts, survey};
///
/// std::fs::write(&path, "1 2\n2 3\n")?;
/// let options = survey(&path, &LoadOptions::default(), &NoProgress)?.options;
/// let mut edges = 0;
/// let summary = read_edges_in_parts(&path, &options, None, &NoProgress, &mut |parts, _| {
///     edges += parts.iter().map(|part| part.len()).sum::<usize>();
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!((edges, summary.end.lines), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Any [`LoadError`]: [`LoadError::Changed`] if what lies before the place is not what it was,
/// [`LoadError::Unended`] if it ends within a line that has gone on since,
/// [`LoadError::Cancelled`] after a `Break`.
pub fn read_edges_in_parts(
    path: &Path,
    options: &LoadOptions,
    from: Option<Place>,
    progress: &dyn Progress,
    take: &mut (dyn FnMut(Vec<EdgeBatch>, Place) -> ControlFlow<()> + Send),
) -> Result<PartsSummary, LoadError> {
    in_pool(path, options, || {
        let source = Source::open(path)?;
        let mut sniffed = look(&source, options)?;
        let mut take = Take::Windows(take);
        let (summary, not_numeric) = read_until_guesses_hold(&mut sniffed, |sniffed| {
            let mut pass = Pass::new(&source, options, progress, sniffed, &mut take).from(from);
            pass.read()?;
            let (end, rejects) = (pass.place(), pass.rejects);
            Ok(PartsSummary { end, rejects, not_numeric: None, format: sniffed.format })
        })?;
        Ok(PartsSummary { not_numeric, ..summary })
    })
}
