//! Rules on Rust tokens: nothing unfinished, nothing left over from debugging, unsafe code only where it is fenced.
//!
//! Tokens, not text, so that comments and strings may speak of what code may not do.

use proc_macro2::{Ident, TokenStream, TokenTree};

use crate::{Finding, Source};

/// Macros that no committed file calls, and why.
const FORBIDDEN_MACROS: [(&str, &str); 3] = [
    ("todo", "unfinished code: finish it, or leave it out"),
    ("unimplemented", "unfinished code: finish it, or return an error that says what is not supported"),
    ("dbg", "left over from debugging: remove it"),
];

/// The files that may hold unsafe code, and what for. A file that no longer does leaves the table.
pub const UNSAFE_FILES: &[(&str, &str)] = &[
    (
        "apps/cli/src/allocator.rs",
        "calls the allocator, which any thread may at any time, and advises the system how its memory is laid out",
    ),
    ("apps/cli/src/interrupt.rs", "asks the system to say when the user presses Ctrl-C"),
    (
        "crates/analytics/src/engine/intersect.rs",
        "calls a function compiled for instructions that were found to be there",
    ),
    ("crates/disk/src/mapped_room.rs", "maps room in a file to write it, which nobody else maps meanwhile"),
    (
        "crates/disk/src/os.rs",
        "maps files of a store, which never change where they are mapped, and gives pages back",
    ),
    ("crates/disk/src/process.rs", "asks the system to say when it forks"),
    ("crates/load/src/map.rs", "maps input files, read as bytes of any value"),
    ("crates/rivals/src/lmdb.rs", "opens a map of a file that nobody else opens"),
    ("crates/store/src/lists/adjacency.rs", "follows the tagged pointers of runs"),
    (
        "crates/store/src/lists/compression.rs",
        "decodes runs eight neighbors at a time, with instructions that were found to be there",
    ),
    ("crates/store/src/versions/cluster.rs", "follows the blocks of clusters of a version that is alive"),
    (
        "crates/store/src/versions/current.rs",
        "swaps the pointer to the newest version, and keeps alive what is read",
    ),
    ("crates/store/src/versions/draft.rs", "reads and writes blocks of the commit being applied"),
    ("crates/store/src/versions/end_to_end.rs", "copies lists that an owner keeps alive"),
    ("crates/store/src/lists/entry.rs", "follows the tagged pointers of vertex table entries"),
    ("crates/store/src/versions/expiry.rs", "reads an old list, less what leaves it is the new one"),
    ("crates/store/src/versions/flat_table.rs", "follows entries that an owner keeps alive"),
    ("crates/store/src/lists/fragment.rs", "reads and writes property columns behind a list"),
    ("crates/store/src/lists/growth.rs", "writes behind the end of lists, where no version reads"),
    ("crates/store/src/lists/heap.rs", "allocates blocks and frees them"),
    ("crates/store/src/lists/leaf_edit.rs", "copies lists of the version being edited into packs"),
    ("crates/store/src/lists/merge.rs", "reads an old list, writes the new one"),
    ("crates/store/src/lists/neighbors.rs", "reads the runs of a list that is alive"),
    ("crates/store/src/lists/paged_array.rs", "follows and copies pages"),
    ("crates/store/src/lists/pages.rs", "asks the system for pages and gives them back"),
    ("crates/store/src/system/prefetch.rs", "asks the processor to bring memory near, which reads nothing"),
    (
        "crates/store/src/versions/range_edit.rs",
        "writes lists to blocks of the commit being applied, and reads those of the version before",
    ),
    ("crates/store/src/versions/reader_slots.rs", "follows a list that only grows"),
    ("crates/store/src/versions/reclaim.rs", "frees blocks that no living version reaches"),
    (
        "crates/store/src/upkeep/recluster.rs",
        "writes lists to a block, and reads the runs of living versions",
    ),
    ("crates/store/src/versions/scan.rs", "reads runs and string cells of a version that is alive"),
    ("crates/store/src/lists/sort.rs", "scatters in parallel to places that are disjoint"),
    ("crates/store/src/lists/spares.rs", "keeps freed blocks for the next commit"),
    ("crates/store/src/keys/text_cell.rs", "follows the pointer to a string that its readers keep alive"),
    ("crates/store/src/versions/version.rs", "reads string cells of a version that is alive"),
    ("crates/store/tests/memory.rs", "counts what the allocator gives out and takes back"),
    (
        "crates/yardstick/src/csr.rs",
        "looks up lists and values of neighbors unchecked, as the kernels measured against do",
    ),
    ("crates/yardstick/src/parse.rs", "maps the input file, as the store's loader does"),
    ("python/src/capsule.rs", "takes Arrow data out of capsules, lends arrays to numpy"),
];

/// Applies the rules to one Rust file.
pub fn check(source: &Source) -> Vec<Finding> {
    check_with(source, UNSAFE_FILES)
}

fn check_with(source: &Source, unsafe_files: &[(&str, &str)]) -> Vec<Finding> {
    let mut found = Vec::new();
    let tokens = match source.tokens() {
        Ok(tokens) => tokens,
        Err(finding) => return vec![finding],
    };
    let mut unsafe_lines = Vec::new();
    walk(tokens, &mut |ident, next_is_bang| {
        let line = ident.span().start().line;
        if ident == "unsafe" {
            unsafe_lines.push(line);
        }
        if let Some((name, why)) = FORBIDDEN_MACROS.iter().find(|(name, _)| next_is_bang && ident == name) {
            found.push(source.finding(line, format!("{name}!: {why}")));
        }
    });
    let allowed = unsafe_files.iter().any(|(path, _)| *path == source.path);
    match unsafe_lines.first() {
        Some(line) if !allowed => {
            let message =
                "unsafe code outside its fence: write it safely, or move it to a file of UNSAFE_FILES";
            found.push(source.finding(*line, message));
        }
        None if allowed => {
            found.push(source.finding(1, "no unsafe code any more: take the file out of UNSAFE_FILES"))
        }
        _ => {}
    }
    found
}

/// Rows of [`UNSAFE_FILES`] whose file is gone.
pub fn check_table(sources: &[Source]) -> Vec<Finding> {
    let gone = UNSAFE_FILES.iter().filter(|(path, _)| !sources.iter().any(|source| source.path == *path));
    let finding = |(path, _): &(&str, &str)| Finding {
        path: (*path).to_owned(),
        line: 1,
        message: "is in UNSAFE_FILES but not in the repository: take it out".to_owned(),
    };
    gone.map(finding).collect()
}

fn walk(tokens: TokenStream, visit: &mut impl FnMut(&Ident, bool)) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => walk(group.stream(), visit),
            TokenTree::Ident(ident) => {
                let bang = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
                visit(&ident, bang);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FENCED: &[(&str, &str)] = &[("fence.rs", "a test")];

    fn messages(path: &str, text: &str) -> Vec<String> {
        check_with(&Source::new(path, text), FENCED).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn unfinished_code_is_found() {
        let text = "fn a() {\n    todo!(\"later\")\n}\nfn b() { std::dbg!(1); unimplemented!() }\n";
        let found = messages("a.rs", text);
        assert!(found[0].starts_with("a.rs:2: todo!"));
        assert!(found[1].starts_with("a.rs:4: dbg!"));
        assert!(found[2].starts_with("a.rs:4: unimplemented!"));
    }

    #[test]
    fn unsafe_code_is_found_outside_its_fence() {
        let text = "fn a() {\n    // SAFETY: none.\n    unsafe { b() }\n}\n";
        assert!(messages("a.rs", text)[0].starts_with("a.rs:3: unsafe code outside"));
        assert!(messages("fence.rs", text).is_empty());
        assert!(messages("fence.rs", "fn a() {}\n")[0].contains("no unsafe code any more"));
    }

    #[test]
    fn comments_strings_and_names_may_speak_of_it() {
        let text =
            "//! No todo!() and nothing unsafe.\n#![deny(unsafe_code)]\nconst A: &str = \"dbg!(unsafe)\";\n";
        assert!(messages("a.rs", text).is_empty());
    }

    #[test]
    fn text_that_is_no_rust_is_a_finding() {
        assert!(messages("a.rs", "fn a() {\n")[0].contains("no Rust"));
    }
}
