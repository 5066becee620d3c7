//! The values that the options of `evergraph load` take, and what they mean to the library.

use clap::ValueEnum;
use evergraph::load::{ColumnRef, Format, PropertySpec};
use evergraph::{Durability, KeyKind, ListFormat, PropertyType};

/// `--keys`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeysArg {
    /// Numbers from 0 that are used as ids
    Dense,
    /// Any 64-bit numbers
    Int64,
    /// Any strings
    String,
}

/// `--format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// Fields with blanks between, comments begin with # or %
    Edgelist,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
}

/// `--on-error`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnErrorArg {
    /// Stop; nothing of the file is loaded
    Raise,
    /// Leave the line out and report it
    Skip,
}

/// `--durability`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DurabilityArg {
    /// Once it is on disk
    Sync,
    /// Once it is written; the log is synced at short intervals
    Interval,
    /// Once it is written; the log is synced only as it grows
    None,
}

/// `--list-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormatArg {
    /// As they are: read at the speed of memory
    Fast,
    /// In few bits: half the memory or less
    Compact,
}

/// `--properties`.
#[derive(Clone, Debug)]
pub(crate) struct PropertiesArg(pub(crate) Vec<PropertySpec>);

/// A column by position, if it is a number, else by name.
pub(crate) fn column(text: &str) -> Result<ColumnRef, String> {
    match text.parse::<usize>() {
        Ok(index) => Ok(ColumnRef::Index(index)),
        Err(_) if text.is_empty() => Err("a column has a name or a position".to_owned()),
        Err(_) => Ok(ColumnRef::Name(text.to_owned())),
    }
}

/// One character; `\t` is a tab.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("one ASCII character is wanted, or \\t".to_owned()),
    }
}

/// `[NAME=]COLUMN[:TYPE],...`, or `none`.
pub(crate) fn properties(text: &str) -> Result<PropertiesArg, String> {
    if text == "none" {
        return Ok(PropertiesArg(Vec::new()));
    }
    text.split(',').map(property).collect::<Result<_, _>>().map(PropertiesArg)
}

fn property(text: &str) -> Result<PropertySpec, String> {
    let (name, rest) = text.split_once('=').map_or((None, text), |(name, rest)| (Some(name), rest));
    let (at, kind) = rest.rsplit_once(':').map_or((rest, None), |(at, kind)| (at, Some(kind)));
    let kind =
        kind.map(|kind| PropertyType::from_name(kind).ok_or_else(|| unknown_type(kind))).transpose()?;
    let column = column(at)?;
    let name = match (name, &column) {
        (Some(""), _) => return Err(format!("{text:?}: the name of the property is empty")),
        (Some(name), _) => name.to_owned(),
        (None, ColumnRef::Name(name)) => name.clone(),
        (None, ColumnRef::Index(_)) => {
            return Err(format!("{text:?}: a column given by position needs a name: NAME={text}"));
        }
    };
    Ok(PropertySpec { column, name, kind })
}

fn unknown_type(kind: &str) -> String {
    format!("there is no type {kind:?}; there are {}", PropertyType::known_names())
}

impl From<KeysArg> for KeyKind {
    fn from(keys: KeysArg) -> Self {
        match keys {
            KeysArg::Dense => KeyKind::Dense,
            KeysArg::Int64 => KeyKind::Int64,
            KeysArg::String => KeyKind::Text,
        }
    }
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Edgelist => Format::EdgeList,
            FormatArg::Csv => Format::Csv,
            FormatArg::Tsv => Format::Tsv,
        }
    }
}

impl From<ListFormatArg> for ListFormat {
    fn from(format: ListFormatArg) -> Self {
        match format {
            ListFormatArg::Fast => ListFormat::Fast,
            ListFormatArg::Compact => ListFormat::Compact,
        }
    }
}

impl From<DurabilityArg> for Durability {
    fn from(durability: DurabilityArg) -> Self {
        match durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Interval => Durability::Interval,
            DurabilityArg::None => Durability::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_a_column_and_maybe_name_and_type() {
        let PropertiesArg(found) = properties("amount:float64,time=2:timestamp,note").unwrap();
        let parts: Vec<_> = found.iter().map(|it| (it.name.as_str(), &it.column, it.kind)).collect();
        assert_eq!(
            parts,
            [
                ("amount", &ColumnRef::from("amount"), Some(PropertyType::Float64)),
                ("time", &ColumnRef::from(2), Some(PropertyType::Timestamp)),
                ("note", &ColumnRef::from("note"), None),
            ]
        );
        assert!(properties("none").unwrap().0.is_empty());
    }

    #[test]
    fn properties_that_make_no_sense_are_refused() {
        assert!(properties("2").unwrap_err().contains("NAME=2"));
        assert!(properties("amount:money").unwrap_err().contains("float64"));
        assert!(properties("=2").unwrap_err().contains("empty"));
        assert!(properties("").unwrap_err().contains("name or a position"));
    }

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert!(delimiter(",,").is_err() && delimiter("").is_err() && delimiter("é").is_err());
    }
}
