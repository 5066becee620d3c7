//! Bytes to records and fields. This is the one definition of where a record ends and what its fields are; all
//! parallelism above relies on it giving the same answer wherever the data at hand begin and end.
//!
//! Invariant: what [`Dialect::split`] says of the record at `start` depends on the bytes from `start` on only, and is
//! final: more data never changes it, except that [`Split::Incomplete`] asks for more.

use memchr::{memchr, memchr2};

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
        match self.blank(at_hand, start, complete && !at_limit) {
            Some(Stop::Line(next)) => return Split::Blank { next },
            Some(Stop::Bad(place)) => return self.bad(data, start, place, complete),
            _ => {}
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

    /// Where a comment or empty line at `start` stops, if there is one; `complete` says that the file ends with `at_hand`.
    fn blank(&self, at_hand: &[u8], start: usize, complete: bool) -> Option<Stop> {
        let mut at = start;
        while let Some(b' ' | b'\t' | b'\r') = at_hand.get(at).filter(|byte| Some(**byte) != self.delimiter) {
            at += 1;
        }
        match at_hand.get(at) {
            Some(b'\n') => Some(Stop::Line(at + 1)),
            Some(b'#' | b'%') if self.comments => {
                let end = memchr2(b'\r', b'\n', &at_hand[start..]).map_or(at_hand.len(), |end| start + end);
                match stop_at(at_hand, end) {
                    Stop::Data => complete.then_some(Stop::Line(at_hand.len())),
                    stop => Some(stop),
                }
            }
            None => complete.then_some(Stop::Line(at)),
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
                _ => {
                    field.end = quote;
                    return (Some(field), self.after_quote(data, quote + 1));
                }
            }
        }
        (Some(field), Stop::Data)
    }

    fn after_quote(&self, data: &[u8], at: usize) -> Stop {
        match data.get(at) {
            Some(byte) if !matches!(byte, b'\n' | b'\r') && Some(*byte) != self.delimiter => {
                Stop::Bad(Place::new(at, Fault::AfterQuote))
            }
            _ => stop_at(data, at),
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

/// What a field or a comment comes to at `end`: a byte that separates fields or ends lines, or the end of the data. A carriage
/// return with nothing behind it may be half a line end, or end the file.
fn stop_at(data: &[u8], end: usize) -> Stop {
    match (data.get(end), data.get(end + 1)) {
        (None, _) | (Some(b'\r'), None) => Stop::Data,
        (Some(b'\n'), _) => Stop::Line(end + 1),
        (Some(b'\r'), Some(b'\n')) => Stop::Line(end + 2),
        (Some(b'\r'), Some(_)) => Stop::Bad(Place::new(end, Fault::CarriageReturn)),
        (Some(_), _) => Stop::Field(end + 1),
    }
}

fn delimited_field(data: &[u8], start: usize, delimiter: u8) -> (Option<Field>, Stop) {
    let end = find_delimiter(data, start, delimiter);
    (Some(Field { start, end, quoted: false, escaped: false }), stop_at(data, end))
}

fn field_between_blanks(data: &[u8], start: usize) -> (Option<Field>, Stop) {
    let mut start = start;
    while let Some(b' ' | b'\t') = data.get(start) {
        start += 1;
    }
    let end = find_blank(data, start);
    (Some(Field { start, end, quoted: false, escaped: false }).filter(|_| end > start), stop_at(data, end))
}
