//! The words of a predicate, each with its place in the text.
//!
//! Invariant: tokens come in order, and every byte that is not blank belongs to one.

use crate::error::PredicateError;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A property's name, not quoted or quoted with `"`. Words of the language are names until the parser looks.
    Name {
        text: String,
        quoted: bool,
    },
    Text(String),
    Int(i64),
    Float(f64),
    /// `= != < <= > >= ( ) ,`
    Sign(&'static str),
    End,
}

impl Token {
    /// As an error message shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Token::Name { text, .. } => format!("{text:?}"),
            Token::Text(text) => format!("'{text}'"),
            Token::Int(number) => number.to_string(),
            Token::Float(number) => number.to_string(),
            Token::Sign(sign) => format!("'{sign}'"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Longer ones first; the second of a pair is how the first one is known further on.
const SIGNS: [(&str, &str); 11] = [
    ("<=", "<="),
    (">=", ">="),
    ("<>", "!="),
    ("!=", "!="),
    ("==", "="),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("(", "("),
    (")", ")"),
    (",", ","),
];

/// The tokens of a text with their byte offsets, an end last.
pub(crate) fn tokens(source: &str) -> Result<Vec<(Token, usize)>, PredicateError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let start = at;
        let rest = &source[at..];
        let token = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first == '\'' || first == '"' {
            let (text, len) =
                quoted(rest, first).ok_or_else(|| syntax(start, "a quote that is never closed"))?;
            at += len;
            if first == '"' { Token::Name { text, quoted: true } } else { Token::Text(text) }
        } else if first.is_alphabetic() || first == '_' {
            let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let len = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
            at += len;
            Token::Name { text: rest[..len].to_owned(), quoted: false }
        } else if first.is_ascii_digit() || "+-.".contains(first) {
            let (token, len) = number(rest).ok_or_else(|| syntax(start, "no number"))?;
            at += len;
            token
        } else if let Some((sign, meant)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            at += sign.len();
            Token::Sign(meant)
        } else {
            return Err(syntax(start, &format!("unexpected {first:?}")));
        };
        found.push((token, start));
    }
    found.push((Token::End, source.len()));
    Ok(found)
}

fn syntax(at: usize, what: &str) -> PredicateError {
    PredicateError::Syntax { at, what: what.to_owned() }
}

/// The text between quotes and the bytes it takes; a doubled quote stands for one.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            text.push(c);
        } else if chars.peek().is_some_and(|&(_, next)| next == quote) {
            chars.next();
            text.push(quote);
        } else {
            return Some((text, at + quote.len_utf8()));
        }
    }
    None
}

/// A number and the bytes it takes: an integer if it is written as one and fits 64 bits.
fn number(rest: &str) -> Option<(Token, usize)> {
    let mut len = usize::from(rest.starts_with(['+', '-']));
    let mut whole = true;
    for (at, byte) in rest.bytes().enumerate().skip(len) {
        let exponent_sign = matches!(byte, b'+' | b'-') && matches!(rest.as_bytes()[at - 1], b'e' | b'E');
        match byte {
            b'0'..=b'9' | b'_' => {}
            b'.' | b'e' | b'E' => whole = false,
            _ if exponent_sign => {}
            _ => break,
        }
        len = at + 1;
    }
    let digits = rest[..len].replace('_', "");
    if whole && let Ok(number) = digits.parse() {
        return Some((Token::Int(number), len));
    }
    let number: f64 = digits.parse().ok()?;
    number.is_finite().then_some((Token::Float(number), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Token> {
        tokens(source).unwrap_or_default().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn texts_names_and_numbers() {
        let name = |text: &str, quoted| Token::Name { text: text.to_owned(), quoted };
        let found = words("größe<=-1.5e3 \"a \"\"b\" <> 'it''s' 12 +9223372036854775808");
        let expected = [
            name("größe", false),
            Token::Sign("<="),
            Token::Float(-1500.0),
            name("a \"b", true),
            Token::Sign("!="),
            Token::Text("it's".to_owned()),
            Token::Int(12),
            Token::Float(9_223_372_036_854_775_808.0),
            Token::End,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_token_is_shown_where_it_is() {
        for (source, place) in [("a = 'b", 4), ("a ; b", 2), ("a < 1.2.3", 4), ("a < -", 4), ("a < 1e999", 4)]
        {
            let error = tokens(source).err();
            assert!(
                matches!(error, Some(PredicateError::Syntax { at, .. }) if at == place),
                "{source}: {error:?}"
            );
        }
    }
}
