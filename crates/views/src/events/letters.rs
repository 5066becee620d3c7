//! Dead letters: events that a handler could not deal with, kept in the catalog until they are replayed or discarded.
//!
//! ```text
//!  item "dead/VIEW/HANDLER/VERSION-INDEX" (both hexadecimal)
//!  format 1 | tries 4 | error: text | version 8 | index 4 | time 8 | kind 1 | subject: 0 key, 1 key key text
//!  transition: 0 added, 1 removed, 2 changed: text value value
//!  key: 0 number 8, 1 text      text: length 4, bytes
//!  value: 0 null, 1 bool 1, 2 int 8, 3 float 8, 4 text, 5 time 8, 6 unsigned 8, 7 date 4, 8 bytes, 9 list: length 4, values
//! ```
//!
//! Invariant: `decode(encode(x)) == x`, and `decode` gives `None` for anything else.

use evergraph_types::{Key, Value};

use super::event::{Event, EventKind, Subject, Transition};

/// Where they are in the catalog.
pub(crate) const PREFIX: &str = "dead/";
const FORMAT: u8 = 1;

/// An event that was given up.
#[derive(Clone, Debug, PartialEq)]
pub struct DeadLetter {
    /// The event.
    pub event: Event,
    /// What the handler said the last time.
    pub error: String,
    /// How often it was called.
    pub tries: u32,
}

/// The items of a handler's dead letters.
pub(crate) fn prefix(view: &str, handler: &str) -> String {
    format!("{PREFIX}{view}/{handler}/")
}

/// The item of one.
pub(crate) fn item(view: &str, handler: &str, event: &Event) -> String {
    format!("{}{:016x}-{:08x}", prefix(view, handler), event.version, event.index)
}

/// A letter as bytes.
pub(crate) fn encode(letter: &DeadLetter) -> Vec<u8> {
    let DeadLetter { event, error, tries } = letter;
    let mut out = vec![FORMAT];
    out.extend_from_slice(&tries.to_le_bytes());
    put_text(error, &mut out);
    out.extend_from_slice(&event.version.to_le_bytes());
    out.extend_from_slice(&event.index.to_le_bytes());
    out.extend_from_slice(&event.time_micros.to_le_bytes());
    out.push(EventKind::ALL.iter().position(|kind| *kind == event.kind).unwrap_or(0) as u8);
    match &event.subject {
        Subject::Vertex(key) => {
            out.push(0);
            put_key(key, &mut out);
        }
        Subject::Edge(src, dst, kind) => {
            out.push(1);
            put_key(src, &mut out);
            put_key(dst, &mut out);
            put_text(kind, &mut out);
        }
    }
    match &event.transition {
        Transition::Added => out.push(0),
        Transition::Removed => out.push(1),
        Transition::Changed { property, old, new } => {
            out.push(2);
            put_text(property, &mut out);
            put_value(old, &mut out);
            put_value(new, &mut out);
        }
    }
    out
}

/// The letter of these bytes.
pub(crate) fn decode(bytes: &[u8]) -> Option<DeadLetter> {
    let mut input = Input(bytes);
    (input.byte()? == FORMAT).then_some(())?;
    let tries = u32::from_le_bytes(input.array()?);
    let error = input.text()?;
    let version = u64::from_le_bytes(input.array()?);
    let index = u32::from_le_bytes(input.array()?);
    let time_micros = i64::from_le_bytes(input.array()?);
    let kind = *EventKind::ALL.get(usize::from(input.byte()?))?;
    let subject = match input.byte()? {
        0 => Subject::Vertex(input.key()?),
        1 => Subject::Edge(input.key()?, input.key()?, input.text()?),
        _ => return None,
    };
    let transition = match input.byte()? {
        0 => Transition::Added,
        1 => Transition::Removed,
        2 => Transition::Changed { property: input.text()?, old: input.value()?, new: input.value()? },
        _ => return None,
    };
    let event = Event { version, time_micros, index, kind, subject, transition };
    input.0.is_empty().then_some(DeadLetter { event, error, tries })
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_key(key: &Key, out: &mut Vec<u8>) {
    match key {
        Key::Int(number) => {
            out.push(0);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Key::Text(text) => {
            out.push(1);
            put_text(text, out);
        }
    }
}

fn put_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(flag) => out.extend_from_slice(&[1, u8::from(*flag)]),
        Value::Int(number) => {
            out.push(2);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Float(number) => {
            out.push(3);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Text(text) => {
            out.push(4);
            put_text(text, out);
        }
        Value::Timestamp(micros) => {
            out.push(5);
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Value::UInt(number) => {
            out.push(6);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Date(days) => {
            out.push(7);
            out.extend_from_slice(&days.to_le_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(8);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Value::List(items) => {
            out.push(9);
            out.extend_from_slice(&(items.len() as u32).to_le_bytes());
            items.iter().for_each(|item| put_value(item, out));
        }
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = u32::from_le_bytes(self.array()?) as usize;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    fn key(&mut self) -> Option<Key> {
        match self.byte()? {
            0 => self.array().map(|number| Key::Int(i64::from_le_bytes(number))),
            1 => self.text().map(Key::Text),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value> {
        if let [9, rest @ ..] = self.0 {
            self.0 = rest;
            let count = u32::from_le_bytes(self.array()?) as usize;
            // Lists have no lists in them, so this goes one step deep.
            let items = (0..count).map(|_| if self.0.first() == Some(&9) { None } else { self.value() });
            return Some(Value::List(items.collect::<Option<_>>()?));
        }
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(self.byte()? != 0),
            2 => Value::Int(i64::from_le_bytes(self.array()?)),
            3 => Value::Float(f64::from_le_bytes(self.array()?)),
            4 => Value::Text(self.text()?),
            5 => Value::Timestamp(i64::from_le_bytes(self.array()?)),
            6 => Value::UInt(u64::from_le_bytes(self.array()?)),
            7 => Value::Date(i32::from_le_bytes(self.array()?)),
            8 => Value::Bytes(self.bytes()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_kept_and_what_is_cut_off_is_refused() {
        let changed = |old: Value, new: Value| Transition::Changed { property: "speed".to_owned(), old, new };
        let transitions = [
            Transition::Added,
            Transition::Removed,
            changed(Value::Null, Value::Float(1.5)),
            changed(Value::from("a"), Value::Timestamp(-1)),
            changed(Value::Bool(true), Value::Int(i64::MIN)),
            changed(Value::Date(-3), Value::UInt(u64::MAX)),
            changed(Value::Bytes(vec![0, 255]), Value::List(vec![Value::from("a"), Value::Null])),
        ];
        let subjects =
            [Subject::Vertex(Key::Int(-3)), Subject::Edge(Key::from("a"), Key::from("é"), "pays".to_owned())];
        for (transition, subject) in transitions.into_iter().zip(subjects.into_iter().cycle()) {
            let kind = EventKind::Property;
            let event = Event { version: 7, time_micros: -9, index: 3, kind, subject, transition };
            let letter = DeadLetter { event, error: "no".to_owned(), tries: 6 };
            let bytes = encode(&letter);
            assert_eq!(decode(&bytes), Some(letter));
            assert!((0..bytes.len()).all(|len| decode(&bytes[..len]).is_none()));
        }
    }
}
