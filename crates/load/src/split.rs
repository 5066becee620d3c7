//! Bytes to records and fields. This is the one definition of where a record ends and what its fields are; all
//! parallelism above relies on it giving the same answer wherever the data at hand begin and end.
//!
//! Invariant: what [`Dialect::split`] says of the record at `start` depends on the bytes from `start` on only, and is
//! final: more data never changes it, except that [`Split::Incomplete`] asks for more.

use memchr::memchr;

use crate::fault::{Fault, Place};
use crate::scan::{find_blank, find_delimiter};

/// How lines are cut into fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The byte between fields; runs of blanks where `None`.
    pub(crate) delimiter: Option<u8>,
    /// Fields may be quoted.
    pub(crate) quotes: bool,
    /// Lines that start with `#` or `%` are comments.
    pub(crate) comments: bool,
    /// The longest record.
    pub(crate) limit_bytes: usize,
}

/// A field of a record; the bytes inside the quotes where it is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
    /// It holds doubled quotes.
    pub(crate) escaped: bool,
}

/// What is at a place in the data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// A comment or an empty line; the next record is at `next`.
    Blank { next: usize },
    /// A record of `count` fields, of which as many are kept as the caller has room for. It is a line, or, with a `quoted`
    /// field, maybe more than one.
    Row { next: usize, count: usize, quoted: bool },
    /// A line that cannot be read; reading goes on at `next`.
    Bad { place: Place, next: usize },
    /// A line beyond the limit, whose end is beyond the data.
    Endless { place: Place },
    /// The record goes on beyond the data.
    Incomplete,
}

/// Where a field stopped.
enum Stop {
    /// At the delimiter; the next field is at this byte.
    Field(usize),
    /// At the end of the line; the next line is at this byte.
    Line(usize),
    /// At the end of the data or of the limit.
    Data,
    /// In trouble.
    Bad(Place),
}

impl Dialect {
    /// Reads the record at `start < data.len()`. `complete` says that the file ends where `data` does. The fields are
    /// left in `fields`, at most `room` of them.
    pub(crate) fn split(
        &self,
        data: &[u8],
        start: usize,
        complete: bool,
        fields: &mut Vec<Field>,
        room: usize,
    ) -> Split {
        fields.clear();
        let horizon = start.saturating_add(self.limit_bytes).saturating_add(1).min(data.len());
        let at_hand = &data[..horizon];
        let at_limit = horizon - start > self.limit_bytes;
        if let Some(split) = self.blank(at_hand, start, complete && !at_limit) {
            return split;
        }
        let (mut from, mut count, mut quoted) = (start, 0, false);
        loop {
            let (field, stop) = self.field(at_hand, from);
            if let Some(field) = field {
                quoted |= field.quoted;
                if count < room {
                    fields.push(field);
                }
                count += 1;
            }
            match stop {
                Stop::Field(next) => from = next,
                Stop::Line(next) => return Split::Row { next, count, quoted },
                Stop::Bad(place) => return self.bad(data, start, place, complete),
                Stop::Data if !at_limit && !complete => return Split::Incomplete,
                Stop::Data => match field.filter(|field| field.quoted && field.end == horizon) {
                    Some(field) => {
                        let place = Place::new(field.start - 1, Fault::Unclosed);
                        return self.bad(data, start, place, complete);
                    }
                    None if at_limit => {
                        let place = Place::new(start, Fault::TooLong { limit: self.limit_bytes });
                        return self.bad(data, start, place, complete);
                    }
                    None => return Split::Row { next: horizon, count, quoted },
                },
            }
        }
    }

    /// A comment or empty line at `start`, if there is one; `complete` says that the file ends with `at_hand`.
    fn blank(&self, at_hand: &[u8], start: usize, complete: bool) -> Option<Split> {
        let mut at = start;
        while let Some(b' ' | b'\t' | b'\r') = at_hand.get(at).filter(|byte| Some(**byte) != self.delimiter) {
            at += 1;
        }
        match at_hand.get(at) {
            Some(b'\n') => Some(Split::Blank { next: at + 1 }),
            Some(b'#' | b'%') if self.comments => match memchr(b'\n', &at_hand[at..]) {
                Some(end) => Some(Split::Blank { next: at + end + 1 }),
                None => complete.then_some(Split::Blank { next: at_hand.len() }),
            },
            None => complete.then_some(Split::Blank { next: at }),
            _ => None,
        }
    }

    fn field(&self, data: &[u8], start: usize) -> (Option<Field>, Stop) {
        match self.delimiter {
            None => field_between_blanks(data, start),
            Some(_) if self.quotes && data.get(start) == Some(&b'"') => self.quoted_field(data, start),
            Some(delimiter) => delimited_field(data, start, delimiter),
        }
    }

    fn quoted_field(&self, data: &[u8], start: usize) -> (Option<Field>, Stop) {
        let mut field = Field { start: start + 1, end: data.len(), quoted: true, escaped: false };
        let mut at = start + 1;
        while let Some(offset) = memchr(b'"', &data[at..]) {
            let quote = at + offset;
            match data.get(quote + 1) {
                Some(b'"') => {
                    field.escaped = true;
                    at = quote + 2;
                }
                after => {
                    field.end = quote;
                    return (Some(field), self.after_quote(data, quote + 1, after.copied()));
                }
            }
        }
        (Some(field), Stop::Data)
    }

    fn after_quote(&self, data: &[u8], at: usize, byte: Option<u8>) -> Stop {
        match byte {
            None => Stop::Data,
            Some(b'\n') => Stop::Line(at + 1),
            Some(byte) if Some(byte) == self.delimiter => Stop::Field(at + 1),
            Some(b'\r') => match data.get(at + 1) {
                Some(b'\n') => Stop::Line(at + 2),
                None => Stop::Data,
                Some(_) => Stop::Bad(Place::new(at, Fault::AfterQuote)),
            },
            Some(_) => Stop::Bad(Place::new(at, Fault::AfterQuote)),
        }
    }

    /// After trouble, reading goes on with the line after the one on which the record started: a stray quote then
    /// costs one line, not all up to the next quote.
    fn bad(&self, data: &[u8], start: usize, place: Place, complete: bool) -> Split {
        let beyond_limit = data.len() - start > self.limit_bytes;
        match memchr(b'\n', &data[start..]) {
            Some(end) => Split::Bad { place, next: start + end + 1 },
            None if complete => Split::Bad { place, next: data.len() },
            None if beyond_limit => Split::Endless { place },
            None => Split::Incomplete,
        }
    }
}

fn delimited_field(data: &[u8], start: usize, delimiter: u8) -> (Option<Field>, Stop) {
    let end = find_delimiter(data, start, delimiter);
    let stop = match data.get(end) {
        None => Stop::Data,
        Some(b'\n') => Stop::Line(end + 1),
        Some(_) => Stop::Field(end + 1),
    };
    let at_line_end = !matches!(stop, Stop::Field(_));
    let carriage_return = at_line_end && end > start && data[end - 1] == b'\r';
    let end = end - usize::from(carriage_return);
    (Some(Field { start, end, quoted: false, escaped: false }), stop)
}

fn field_between_blanks(data: &[u8], start: usize) -> (Option<Field>, Stop) {
    let mut start = start;
    while let Some(b' ' | b'\t' | b'\r') = data.get(start) {
        start += 1;
    }
    let end = find_blank(data, start);
    let stop = match data.get(end) {
        None => Stop::Data,
        Some(b'\n') => Stop::Line(end + 1),
        Some(_) => Stop::Field(end + 1),
    };
    (Some(Field { start, end, quoted: false, escaped: false }).filter(|_| end > start), stop)
}
