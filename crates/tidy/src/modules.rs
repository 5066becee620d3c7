//! Rules on Rust files as modules: each opens with its documentation, and `lib.rs` and `mod.rs` hold nothing but
//! modules and re-exports, so that a crate's face can be read at a glance.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{Finding, Source};

/// Applies the rules to one Rust file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    if !source.text.starts_with("//! ") {
        found.push(source.finding(1, "open the file with `//!`: what it holds, why, and its invariant"));
    }
    let name = source.path.rsplit('/').next().unwrap_or_default();
    // What tests share has to be called `common/mod.rs`, and is the face of nothing.
    let shared_by_tests = source.path.contains("/tests/");
    if matches!(name, "lib.rs" | "mod.rs") && !shared_by_tests {
        match source.tokens() {
            Ok(tokens) => check_face(source, tokens, &mut found),
            Err(finding) => found.push(finding),
        }
    }
    found
}

/// Reports every item of `tokens` that is neither a module nor a re-export, looking into modules written in place.
fn check_face(source: &Source, tokens: TokenStream, found: &mut Vec<Finding>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(first) = next_of_item(&mut tokens) {
        let line = first.span().start().line;
        let keyword = match &first {
            TokenTree::Ident(ident) => ident.to_string(),
            other => other.to_string(),
        };
        let body = rest_of_item(&mut tokens);
        match (keyword.as_str(), body) {
            ("use" | "mod", None) => {}
            ("mod", Some(inside)) => check_face(source, inside, found),
            _ => {
                let message =
                    "only `mod`, `use` and documentation belong here: move this to a file of its own";
                found.push(source.finding(line, message));
            }
        }
    }
}

/// The first token of the next item, past its attributes and visibility.
fn next_of_item(tokens: &mut Peekable<IntoIter>) -> Option<TokenTree> {
    loop {
        match tokens.next()? {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
                    tokens.next();
                }
                tokens.next();
            }
            TokenTree::Ident(ident) if ident == "pub" => {
                let scope = matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                if scope {
                    tokens.next();
                }
            }
            token => return Some(token),
        }
    }
}

/// Skips to the end of the item; the tokens between braces if it ends with those and not with a semicolon.
fn rest_of_item(tokens: &mut Peekable<IntoIter>) -> Option<TokenStream> {
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let more = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ';');
                if !more {
                    return Some(group.stream());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Source::new(path, text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_without_documentation_is_found() {
        assert!(messages("a.rs", "fn a() {}\n")[0].starts_with("a.rs:1: open the file"));
        assert!(messages("a.rs", "//! A.\n\nfn a() {}\n").is_empty());
    }

    #[test]
    fn a_face_of_modules_and_re_exports_is_clean() {
        let text = "//! A face.\n#![allow(unsafe_code)]\nmod a;\n#[cfg(test)]\nmod tests;\npub(crate) mod b;\n\
                    pub use a::{A, B};\nuse b::C;\n/// Kernels.\npub mod kernels {\n    pub use crate::a::run;\n}\n";
        assert!(messages("x/src/lib.rs", text).is_empty());
    }

    #[test]
    fn anything_else_in_a_face_is_found() {
        let text = "//! A face.\nmod a;\npub fn b() {}\nstruct C;\npub mod d {\n    const E: u8 = 1;\n}\n\
                    macro_rules! f { () => {} }\nmod g;\n";
        let lines: Vec<usize> =
            check(&Source::new("x/src/mod.rs", text)).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 6, 8]);
        assert!(messages("x/src/other.rs", text).is_empty());
        assert!(messages("x/tests/common/mod.rs", text).is_empty());
    }
}
