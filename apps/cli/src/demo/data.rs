//! The graphs of the demo, which are part of the program, so that it needs no network and no repository. They are those
//! that the tests load; `tests/data/README.md` says where they are from.

use std::path::{Path, PathBuf};

use crate::error::CommandError;
use crate::table::{Layout, Side};
use crate::units;

/// A graph as a compressed file, and what was published about it.
pub(super) struct Data {
    pub(super) name: &'static str,
    bytes: &'static [u8],
}

pub(super) const WIKI_VOTE: Data =
    Data { name: "wiki-Vote.txt.gz", bytes: include_bytes!("../../../../tests/data/wiki-Vote.txt.gz") };

pub(super) const COLLEGE_MSG: Data =
    Data { name: "CollegeMsg.txt.gz", bytes: include_bytes!("../../../../tests/data/CollegeMsg.txt.gz") };

impl Data {
    /// Writes it to a directory as the file it was downloaded as.
    pub(super) fn unpack(&self, directory: &Path) -> Result<PathBuf, CommandError> {
        let path = directory.join(self.name);
        std::fs::write(&path, self.bytes).map_err(CommandError::file(&path))?;
        Ok(path)
    }
}

/// A number that was published, beside the one that was found.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(super) struct Fact {
    pub(super) found: u64,
    pub(super) published: u64,
}

impl Fact {
    /// Whether they are the same.
    pub(super) fn holds(&self) -> bool {
        self.found == self.published
    }

    /// `same`, or how far they are apart.
    fn verdict(&self) -> String {
        match self.found as i64 - self.published as i64 {
            0 => "same".to_owned(),
            difference => format!("DIFFERS by {difference}"),
        }
    }
}

/// Facts with their names and a remark each, as a table.
pub(super) fn fact_table(facts: &[(&str, Fact, &str)]) -> String {
    let row = |(name, fact, remark): &(&str, Fact, &str)| {
        let (found, published) = (units::count(fact.found), units::count(fact.published));
        vec![(*name).to_owned(), found, published, fact.verdict(), (*remark).to_owned()]
    };
    let layout = Layout::new([
        ("", Side::Left, 0),
        ("found", Side::Right, 9),
        ("published", Side::Right, 9),
        ("", Side::Left, 4),
        ("", Side::Left, 0),
    ]);
    layout.table(&facts.iter().map(row).collect::<Vec<_>>())
}
