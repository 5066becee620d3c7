//! The files of the repository that the rules apply to.
//!
//! Found by walking the tree, not by asking git, so that a file is checked before it is committed and in an
//! unpacked archive as well. Hidden folders (but for the CI's) and those that builds write are left out.

use std::path::{Path, PathBuf};
use std::{fs, io};

use proc_macro2::TokenStream;

use crate::Finding;

const WRITTEN_BY_BUILDS: [&str; 5] = ["target", "dist", "data", "__pycache__", "node_modules"];
const HIDDEN_BUT_OURS: [&str; 2] = [".ci", ".github"];

/// What a file is written in, as far as the rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rust.
    Rust,
    /// Python, stubs included.
    Python,
    /// Markdown.
    Markdown,
    /// A makefile, where tabs have a meaning.
    Make,
    /// Configuration and scripts.
    Other,
}

impl Kind {
    /// The kind of the file at `path`; `None` where no rule applies, as to data.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("rs") => Some(Kind::Rust),
            Some("py" | "pyi") => Some(Kind::Python),
            Some("md") => Some(Kind::Markdown),
            Some("toml" | "yml" | "yaml" | "sh") => Some(Kind::Other),
            _ if name == "Makefile" => Some(Kind::Make),
            _ if path.starts_with(".ci/") => Some(Kind::Other),
            _ => None,
        }
    }
}

/// One file, read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path from the root of the repository, with `/`.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: String,
}

impl Source {
    /// A source made up for a test.
    pub fn new(path: &str, text: &str) -> Self {
        Source { path: path.to_owned(), kind: Kind::of(path).unwrap_or(Kind::Other), text: text.to_owned() }
    }

    /// A finding in this file.
    pub fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The Rust tokens, or the finding that says where the text is no Rust.
    pub fn tokens(&self) -> Result<TokenStream, Finding> {
        self.text.parse().map_err(|error: proc_macro2::LexError| {
            self.finding(error.span().start().line, "this is no Rust: compile it first")
        })
    }
}

/// The root of the repository this crate lies in.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below `root` that a rule applies to, by path.
pub fn sources(root: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if entry.file_type()?.is_dir() {
                if is_ours(&name) {
                    folders.push(path);
                }
            } else if let Some(kind) = Kind::of(&path) {
                found.push(Source { text: fs::read_to_string(entry.path())?, path, kind });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn is_ours(folder: &str) -> bool {
    let hidden = folder.starts_with('.') && !HIDDEN_BUT_OURS.contains(&folder);
    !hidden && !WRITTEN_BY_BUILDS.contains(&folder) && !folder.ends_with(".eg")
}
