//! What can be wrong with a line, as small as it is found on the hot path; worded only when it is reported.

use std::fmt;

use evergraph_types::{MAX_TEXT_BYTES, MAX_VERTICES, PropertyType};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another number of fields than the header or the first row has.
    Fields { found: usize, expected: usize },
    /// The record goes on beyond the limit.
    TooLong { limit: usize },
    /// A quoted field without an end.
    Unclosed,
    /// A carriage return outside quotes that no line feed follows.
    CarriageReturn,
    /// Something between a closing quote and the delimiter.
    AfterQuote,
    /// A zero byte in a key or a string.
    Nul,
    /// A key or a string that is no UTF-8.
    NotUtf8,
    /// A key or a value of variable width with more bytes than a store keeps.
    TooWide { found: usize },
    /// A key that is not there.
    EmptyKey,
    /// A key that is no number though numbers were declared.
    NotInt { text: String },
    /// A number beyond 64 bits.
    IntRange { text: String },
    /// A number that is no dense id.
    DenseRange { text: String },
    /// A value that is not of the declared type.
    Value { property: String, kind: PropertyType, text: String },
}

/// A fault and the byte where it starts, counted from the start of the data at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: usize,
    /// Boxed to keep the results of the hot path small.
    pub(crate) fault: Box<Fault>,
}

impl Place {
    /// This fault at this byte.
    pub(crate) fn new(at: usize, fault: Fault) -> Self {
        Place { at, fault: Box::new(fault) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Fields { found, expected } => {
                let plural = if *found == 1 { "" } else { "s" };
                write!(f, "{found} field{plural} where {expected} are expected")
            }
            Fault::TooLong { limit } => write!(f, "longer than the {limit} bytes a line may have"),
            Fault::Unclosed => f.write_str("a quoted field starts here and is not closed"),
            Fault::CarriageReturn => f.write_str(
                "a carriage return (CR) without a line feed (LF), the line end of old Macs; \
                 convert the line ends to LF, as `tr '\\r' '\\n'` does",
            ),
            Fault::AfterQuote => {
                f.write_str("text after a closing quote (a quote inside a field is doubled)")
            }
            Fault::Nul => f.write_str("a NUL byte"),
            Fault::NotUtf8 => f.write_str("bytes that are not UTF-8"),
            Fault::TooWide { found } => {
                write!(
                    f,
                    "a key or value of {found} bytes, {MAX_TEXT_BYTES} are allowed; \
                     keep what is long in files and their names here"
                )
            }
            Fault::EmptyKey => f.write_str("the vertex key is empty"),
            Fault::NotInt { text } => write!(f, "the vertex key {text:?} is not an integer"),
            Fault::IntRange { text } => write!(f, "the vertex key {text} is out of the range of int64"),
            Fault::DenseRange { text } => {
                write!(f, "the vertex key {text} is no dense id: these are from 0 to {}", MAX_VERTICES - 1)
            }
            Fault::Value { property, kind, text } => {
                write!(f, "{text:?} is no {kind}, the type of property {property:?}")
            }
        }
    }
}

/// The start of some bytes as text to show.
pub(crate) fn clip(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 120;
    match bytes.get(..SHOWN_BYTES) {
        Some(start) if bytes.len() > SHOWN_BYTES => format!("{}…", String::from_utf8_lossy(start)),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
