//! From the text of a predicate to its tree, by descent. `predicate.rs` has the grammar.

use evergraph_load::parse_timestamp;
use evergraph_types::Value;

use crate::error::PredicateError;
use crate::predicate::{Condition, MAX_DEPTH, Operand, Sign};
use crate::token::{Token, tokens};

/// The condition that a text says.
pub(crate) fn parse(source: &str) -> Result<Condition, PredicateError> {
    let mut parser = Parser { tokens: tokens(source)?, next: 0 };
    let condition = parser.any(0)?;
    match parser.peek() {
        Token::End => Ok(condition),
        _ => Err(parser.unexpected("'and', 'or' or the end")),
    }
}

struct Parser {
    /// An end last, which is never passed.
    tokens: Vec<(Token, usize)>,
    next: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn at(&self) -> usize {
        self.tokens[self.next].1
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn unexpected(&self, expected: &str) -> PredicateError {
        let what = format!("{expected} is expected here, not {}", self.peek().shown());
        PredicateError::Syntax { at: self.at(), what }
    }

    /// Takes a word of the language, in any case, if it is next.
    fn word(&mut self, wanted: &str) -> bool {
        let is_it = self.is_word(wanted);
        if is_it {
            self.advance();
        }
        is_it
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), Token::Name { text, quoted: false } if text.eq_ignore_ascii_case(wanted))
    }

    fn sign(&mut self, wanted: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Sign(sign) if *sign == wanted);
        if is_it {
            self.advance();
        }
        is_it
    }

    fn expect_sign(&mut self, wanted: &str) -> Result<(), PredicateError> {
        if self.sign(wanted) { Ok(()) } else { Err(self.unexpected(&format!("'{wanted}'"))) }
    }

    fn any(&mut self, depth: usize) -> Result<Condition, PredicateError> {
        let mut parts = vec![self.all(depth)?];
        while self.word("or") {
            parts.push(self.all(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self, depth: usize) -> Result<Condition, PredicateError> {
        let mut parts = vec![self.one(depth)?];
        while self.word("and") {
            parts.push(self.one(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn one(&mut self, depth: usize) -> Result<Condition, PredicateError> {
        if depth >= MAX_DEPTH {
            return Err(PredicateError::TooDeep { at: self.at(), max: MAX_DEPTH });
        }
        if self.word("not") {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.sign("(") {
            let condition = self.any(depth + 1)?;
            self.expect_sign(")")?;
            return Ok(condition);
        }
        let left = self.operand("a condition")?;
        self.rest(left)
    }

    /// What comes after the first operand of a condition.
    fn rest(&mut self, left: Operand) -> Result<Condition, PredicateError> {
        let at = self.at();
        if self.word("is") {
            let negated = self.word("not");
            if !self.word("null") {
                return Err(self.unexpected("'null'"));
            }
            return Ok(negate(Condition::IsNull { operand: left }, negated));
        }
        let negated = self.word("not");
        if self.word("in") {
            self.expect_sign("(")?;
            let mut values = vec![self.literal()?];
            while self.sign(",") {
                values.push(self.literal()?);
            }
            self.expect_sign(")")?;
            return Ok(negate(Condition::In { operand: left, values }, negated));
        }
        if negated {
            return Err(self.unexpected("'in'"));
        }
        let sign = match self.peek() {
            Token::Sign("=") => Sign::Equal,
            Token::Sign("!=") => Sign::NotEqual,
            Token::Sign("<") => Sign::Less,
            Token::Sign("<=") => Sign::LessOrEqual,
            Token::Sign(">") => Sign::Greater,
            Token::Sign(">=") => Sign::GreaterOrEqual,
            _ => return Ok(Condition::Flag(left)),
        };
        self.advance();
        let right = self.operand("a value or a property")?;
        Ok(Condition::Compare { left, sign, right, at })
    }

    fn literal(&mut self) -> Result<Operand, PredicateError> {
        match self.operand("a value")? {
            literal @ Operand::Literal { .. } => Ok(literal),
            Operand::Name { name, at, .. } => {
                let what = format!("a value is expected here, not the property {name:?}");
                Err(PredicateError::Syntax { at, what })
            }
        }
    }

    fn operand(&mut self, expected: &str) -> Result<Operand, PredicateError> {
        let at = self.at();
        let token = self.peek().clone();
        let value = match token {
            Token::Text(text) => Value::Text(text),
            Token::Int(number) => Value::Int(number),
            Token::Float(number) => Value::Float(number),
            Token::Name { text, quoted } => {
                const WORDS: [&str; 6] = ["and", "or", "not", "in", "is", "null"];
                let word = |word: &&str| !quoted && text.eq_ignore_ascii_case(word);
                if word(&"null") {
                    let what = "nothing is equal to null; write 'is null' or 'is not null'".to_owned();
                    return Err(PredicateError::Syntax { at, what });
                }
                if WORDS.iter().any(word) {
                    return Err(self.unexpected(expected));
                }
                self.advance();
                return Ok(match self.peek() {
                    Token::Text(literal) if word(&"timestamp") => {
                        let literal = literal.clone();
                        self.timestamp(&literal, at)?
                    }
                    _ if word(&"true") => Operand::Literal { value: Value::Bool(true), at },
                    _ if word(&"false") => Operand::Literal { value: Value::Bool(false), at },
                    _ => Operand::Name { name: text, quoted, at },
                });
            }
            Token::Sign(_) | Token::End => return Err(self.unexpected(expected)),
        };
        self.advance();
        Ok(Operand::Literal { value, at })
    }

    fn timestamp(&mut self, text: &str, at: usize) -> Result<Operand, PredicateError> {
        let micros = parse_timestamp(text.as_bytes()).ok_or_else(|| PredicateError::Syntax {
            at: self.at(),
            what: format!("'{text}' is no time; one is written as '2024-05-01' or '2024-05-01T12:30:00Z'"),
        })?;
        self.advance();
        Ok(Operand::Literal { value: Value::Timestamp(micros), at })
    }
}

fn negate(condition: Condition, negated: bool) -> Condition {
    if negated { Condition::Not(Box::new(condition)) } else { condition }
}
