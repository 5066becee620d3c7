//! Function length, held by a ratchet: 70 lines are allowed, and the functions that are longer are listed in
//! `long-functions.txt` with their lengths. The list may only shrink.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{Finding, Source};

/// The most lines a function may have, from `fn` to its closing brace.
pub const FUNCTION_LINES: usize = 70;

/// Where the longer functions are listed.
pub const BASELINE: &str = "crates/tidy/long-functions.txt";

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// The lines from `fn` to the closing brace, both counted.
    pub lines: usize,
}

/// Every function of a Rust file, closures and those inside others included in the ones around them.
pub fn functions(tokens: TokenStream) -> Vec<Function> {
    let mut found = Vec::new();
    collect(tokens, &mut found);
    found
}

/// Compares the long functions of all Rust files to the baseline.
pub fn check(sources: &[Source], baseline: &str) -> Vec<Finding> {
    let (mut listed, mut found) = parse_baseline(baseline);
    for source in sources {
        let tokens = match source.tokens() {
            Ok(tokens) => tokens,
            Err(finding) => {
                found.push(finding);
                continue;
            }
        };
        for function in functions(tokens).into_iter().filter(|function| function.lines > FUNCTION_LINES) {
            let name = format!("{} {}", source.path, function.name);
            match listed.remove(&name) {
                None => found.push(source.finding(
                    function.line,
                    format!(
                        "fn {} has {} lines, {FUNCTION_LINES} are allowed: split it where a part has a name of its own",
                        function.name, function.lines
                    ),
                )),
                Some((_, lines)) if function.lines > lines => found.push(source.finding(
                    function.line,
                    format!("fn {} grew from {lines} to {} lines: split it", function.name, function.lines),
                )),
                Some((at, lines)) if function.lines < lines => found.push(in_baseline(
                    at,
                    format!("fn {} shrank from {lines} lines: write {}", function.name, function.lines),
                )),
                Some(_) => {}
            }
        }
    }
    let over = listed
        .into_iter()
        .map(|(name, (at, _))| in_baseline(at, format!("`{name}` is gone or short enough: remove the line")));
    found.extend(over);
    found
}

/// The listed functions, `path name` to (line of the list, length), and the lines that are none.
fn parse_baseline(baseline: &str) -> (BTreeMap<String, (usize, usize)>, Vec<Finding>) {
    let mut listed = BTreeMap::new();
    let mut found = Vec::new();
    for (index, line) in baseline.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let parsed =
            line.rsplit_once(' ').and_then(|(name, lines)| Some((name.to_owned(), lines.parse().ok()?)));
        match parsed {
            Some((name, lines)) if !listed.contains_key(&name) => {
                listed.insert(name, (index + 1, lines));
            }
            Some((name, _)) => found.push(in_baseline(index + 1, format!("`{name}` is listed twice"))),
            None => found.push(in_baseline(index + 1, "write `path name lines`".to_owned())),
        }
    }
    (listed, found)
}

fn in_baseline(line: usize, message: String) -> Finding {
    Finding { path: BASELINE.to_owned(), line, message }
}

fn collect(tokens: TokenStream, found: &mut Vec<Function>) {
    let mut open: Option<(String, usize)> = None;
    let mut after_fn = None;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => match after_fn.take() {
                Some(line) => open = Some((ident.to_string(), line)),
                None if ident == "fn" => after_fn = Some(ident.span().start().line),
                None => {}
            },
            // `fn(u8) -> u8` is a type, and `fn a();` has no body.
            TokenTree::Punct(punct) if punct.as_char() == ';' => open = None,
            TokenTree::Group(group) => {
                after_fn = None;
                if group.delimiter() == Delimiter::Brace
                    && let Some((name, line)) = open.take()
                {
                    found.push(Function { name, line, lines: group.span_close().start().line - line + 1 });
                }
                collect(group.stream(), found);
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(body_lines: usize) -> Source {
        Source::new("a.rs", &format!("//! A.\n\nfn long() {{\n{}}}\n", "    b();\n".repeat(body_lines)))
    }

    fn messages(body_lines: usize, baseline: &str) -> Vec<String> {
        check(&[source(body_lines)], baseline).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn functions_are_measured_wherever_they_stand() {
        let text = "trait A {\n    fn declared(&self) -> fn(u8) -> u8;\n    fn given(&self) {\n    }\n}\n\
                    impl A for B where C: D {\n    async fn outer<T: Fn(u8) -> u8>(\n        t: T,\n    ) {\n        fn inner() {}\n    }\n}\n";
        let found = functions(Source::new("a.rs", text).tokens().unwrap());
        let measured: Vec<(&str, usize, usize)> =
            found.iter().map(|function| (function.name.as_str(), function.line, function.lines)).collect();
        assert_eq!(measured, [("given", 3, 2), ("outer", 7, 5), ("inner", 10, 1)]);
    }

    #[test]
    fn a_new_long_function_is_found() {
        assert!(messages(FUNCTION_LINES - 2, "").is_empty());
        assert!(messages(FUNCTION_LINES - 1, "")[0].starts_with("a.rs:3: fn long has 71 lines"));
    }

    #[test]
    fn the_baseline_only_shrinks() {
        assert!(messages(78, "# list\na.rs long 80\n").is_empty());
        assert!(messages(79, "a.rs long 80\n")[0].starts_with("a.rs:3: fn long grew from 80 to 81"));
        assert!(
            messages(77, "a.rs long 80\n")[0]
                .ends_with("long-functions.txt:1: fn long shrank from 80 lines: write 79")
        );
        assert!(messages(9, "a.rs long 80\n")[0].contains("remove the line"));
        assert!(messages(9, "b.rs gone 80\n")[0].contains("remove the line"));
        assert!(messages(9, "nonsense\n")[0].contains("write `path name lines`"));
    }
}
