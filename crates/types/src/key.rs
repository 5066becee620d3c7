//! Vertex keys: what users call their vertices. A store has one kind of key, fixed by the first vertex written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of keys a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyKind {
    /// Numbers from 0 that are used as ids as they are; no dictionary is kept.
    Dense,
    /// Any signed 64-bit number.
    Int64,
    /// Any UTF-8 string.
    Text,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyKind::Dense => "dense",
            KeyKind::Int64 => "int64",
            KeyKind::Text => "string",
        })
    }
}

/// A vertex key, owned. `Int` serves both `Dense` and `Int64` stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A number.
    Int(i64),
    /// A string.
    Text(String),
}

/// A vertex key, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyRef<'a> {
    /// A number.
    Int(i64),
    /// A string.
    Text(&'a str),
}

impl Key {
    /// Borrows the key.
    pub fn as_ref(&self) -> KeyRef<'_> {
        match self {
            Key::Int(number) => KeyRef::Int(*number),
            Key::Text(text) => KeyRef::Text(text),
        }
    }
}

impl KeyRef<'_> {
    /// An owned copy.
    pub fn to_key(self) -> Key {
        match self {
            KeyRef::Int(number) => Key::Int(number),
            KeyRef::Text(text) => Key::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRef::Int(number) => write!(f, "{number}"),
            KeyRef::Text(text) => write!(f, "{text:?}"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl From<i64> for Key {
    fn from(number: i64) -> Self {
        Key::Int(number)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key::Text(text.to_owned())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Key::Text(text)
    }
}

impl<'a> From<&'a Key> for KeyRef<'a> {
    fn from(key: &'a Key) -> Self {
        key.as_ref()
    }
}

impl From<i64> for KeyRef<'_> {
    fn from(number: i64) -> Self {
        KeyRef::Int(number)
    }
}

impl<'a> From<&'a str> for KeyRef<'a> {
    fn from(text: &'a str) -> Self {
        KeyRef::Text(text)
    }
}
