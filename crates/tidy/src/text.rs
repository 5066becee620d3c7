//! Rules on plain text: no trailing space, no tab, one newline at the end, no path of somebody's machine, no file
//! beyond 1,000 lines.

use crate::{Finding, Kind, Source};

/// The most lines a file may have.
pub const FILE_LINES: usize = 1_000;

/// Folders that only exist on one machine.
const MACHINE_FOLDERS: [&str; 4] = ["home", "root", "work", "Users"];

/// Applies the rules to one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in source.lines() {
        let content = line.strip_suffix('\n').unwrap_or(line);
        if content.ends_with([' ', '\t', '\r']) {
            found.push(source.finding(number, "white space at the end of the line: remove it"));
        }
        if content.contains('\t') && source.kind != Kind::Make {
            found.push(source.finding(number, "a tab: use spaces, or write it as \\t"));
        }
        if let Some(folder) = machine_folder(content) {
            let message = format!("a path below /{folder}, which other machines lack: make it relative");
            found.push(source.finding(number, message));
        }
    }
    let lines = source.text.lines().count();
    if !source.text.is_empty() && (!source.text.ends_with('\n') || source.text.ends_with("\n\n")) {
        found.push(source.finding(lines, "a file ends with exactly one newline"));
    }
    if lines > FILE_LINES && source.kind != Kind::Markdown {
        let message =
            format!("{lines} lines, {FILE_LINES} are allowed: move a part that stands alone to its own file");
        found.push(source.finding(FILE_LINES, message));
    }
    found
}

fn machine_folder(line: &str) -> Option<&'static str> {
    MACHINE_FOLDERS.into_iter().find(|folder| {
        line.match_indices(folder).any(|(at, _)| {
            let after = &line[at + folder.len()..];
            let ends = !after.starts_with(|c: char| c.is_alphanumeric() || "_-.".contains(c));
            let start = line[..at].strip_suffix('/');
            ends && start.is_some_and(|before| {
                !before.ends_with(|c: char| c.is_alphanumeric() || "_.)}/*".contains(c))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path, text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn faults_of_white_space_are_found() {
        assert_eq!(messages("a.rs", "//! A.\nfn a() {}\n"), Vec::<String>::new());
        assert!(messages("a.rs", "//! A. \n")[0].starts_with("a.rs:1: white space"));
        assert!(messages("a.rs", "//! A.\r\n")[0].starts_with("a.rs:1: white space"));
        assert!(messages("a.md", "# A\n\n\tcode\n")[0].starts_with("a.md:3: a tab"));
        assert!(messages("Makefile", "a:\n\techo\n").is_empty());
        assert!(messages("a.toml", "a = 1")[0].contains("one newline"));
        assert!(messages("a.toml", "a = 1\n\n")[0].contains("one newline"));
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(messages("a.py", &format!("open('/{folder}/me/graph')\n")).len(), 1);
            assert_eq!(messages("a.md", &format!("in /{folder}\n")).len(), 1);
        }
        assert!(
            messages("a.md", "the page/root swap, a /workspace, https://example.com/home and ../work/x\n")
                .is_empty()
        );
    }

    #[test]
    fn long_files_are_found() {
        assert!(messages("a.rs", &"a\n".repeat(FILE_LINES)).is_empty());
        assert!(messages("a.rs", &"a\n".repeat(FILE_LINES + 1))[0].starts_with("a.rs:1000: 1001 lines"));
    }
}
