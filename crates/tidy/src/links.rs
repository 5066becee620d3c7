//! Markdown links to files of this repository lead somewhere, and so do mentions of `docs/….md` in any file.

use std::path::Path;

use crate::{Finding, Kind, Source};

/// Checks the links and mentions of one file against the tree at `root`.
pub fn check(source: &Source, root: &Path) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in source.lines() {
        let links = if source.kind == Kind::Markdown { targets(line) } else { Vec::new() };
        for page in mentions(line) {
            if !root.join(page).is_file() && !links.contains(&page) {
                found.push(
                    source
                        .finding(number, format!("{page} is not there: correct the name, or write the page")),
                );
            }
        }
    }
    if source.kind != Kind::Markdown {
        return found;
    }
    for (number, line) in prose(source) {
        for target in targets(line) {
            if let Some(message) = dead(source, root, target) {
                found.push(source.finding(number, message));
            }
        }
    }
    found
}

/// The lines outside fenced code.
fn prose(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    source.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Where the links of a line point to: `[text](target)` and `[label]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (at, _) in line.match_indices("](") {
        let rest = &line[at + 2..];
        if let Some(end) = rest.find([')', ' ']) {
            found.push(&rest[..end]);
        }
    }
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        found.push(target.trim());
    }
    found
}

fn dead(source: &Source, root: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let page = Path::new(&source.path);
    let path = if file.is_empty() { page.to_owned() } else { page.with_file_name("").join(file) };
    if !root.join(&path).exists() && !file.is_empty() {
        return Some(format!("the link to {target} leads nowhere: correct it"));
    }
    if anchor.is_empty() || path.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let text =
        if file.is_empty() { source.text.clone() } else { std::fs::read_to_string(root.join(path)).ok()? };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let known = headings.map(anchor_of).any(|heading| heading == anchor);
    (!known).then(|| format!("the link to {target} names no heading there: correct it"))
}

/// The anchor that renderers give to a heading.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The pages `docs/….md` that a line speaks of, with a name that could be a file's.
fn mentions(line: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    let words = line.split(|c: char| !part(c));
    let pages = words.map(|word| word.trim_end_matches('.'));
    pages
        .filter(|word| word.starts_with("docs/") && word.ends_with(".md") && !word.contains("NNNN"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository_root;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path, text), &repository_root()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dead_links_are_found() {
        let text = "# A\n\n[a](Cargo.toml) and [b](no/such.md), [c](https://example.com/x), [d](#a)\n[e](#b)\n\n[f]: gone.md\n";
        let found = messages("a.md", text);
        assert!(found[0].starts_with("a.md:3: the link to no/such.md"));
        assert!(found[1].starts_with("a.md:4: the link to #b names no heading"));
        assert!(found[2].starts_with("a.md:6: the link to gone.md"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn links_start_from_the_file_they_are_in() {
        assert!(messages("crates/a.md", "[a](tidy/Cargo.toml)\n").is_empty());
        assert_eq!(messages("crates/a.md", "[a](Cargo.toml)\n").len(), 1);
    }

    #[test]
    fn code_is_not_searched_for_links() {
        assert!(messages("a.md", "```rust\nlet a = b[c](d);\n```\n").is_empty());
    }

    #[test]
    fn mentions_of_missing_pages_are_found() {
        let page = ["docs", "no-such-page.md"].join("/");
        assert_eq!(messages("a.rs", &format!("//! See {page}.\n")).len(), 1);
    }

    #[test]
    fn anchors_are_those_of_renderers() {
        assert_eq!(anchor_of("## The life of an edge: `put`, commit"), "the-life-of-an-edge-put-commit");
    }
}
