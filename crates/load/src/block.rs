//! One block of text to one batch: the sequential parser that every thread runs.
//!
//! Invariant: the outcome of a block depends on the plan and the bytes from its start on only. A row is taken whole or
//! not at all: all its values are read before the first is pushed.

use evergraph_types::{KeyColumn, KeyKind, TextValues};
use memchr::{memchr, memchr_iter, memrchr};

use crate::OnError;
use crate::cell::{Cell, Text, read_declared, read_inferred, read_int_key, read_text_key};
use crate::column::ColumnBuilder;
use crate::fault::{Fault, Place, clip};
use crate::parsed::{Reject, Rejects};
use crate::plain::plain_rows;
use crate::plan::{Plan, Widen};
use crate::split::{Field, Split};

/// Why a block came to its end.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    /// All records that start in it are read.
    Done,
    /// The next record goes on beyond the data.
    Incomplete,
    /// A line that is too long goes on beyond the data; the rest of it is to be left out.
    Endless,
    /// A bad line that is not to be skipped: the one reject.
    Failed,
    /// A value refuted a guess.
    Widen(Widen),
}

/// What a block holds. Lines of rejects are counted from the start of the block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The start of the first record that is not part of it.
    pub(crate) end: usize,
    /// The lines up to there.
    pub(crate) lines: u64,
    pub(crate) src: KeyColumn,
    pub(crate) dst: KeyColumn,
    pub(crate) columns: Vec<ColumnBuilder>,
    pub(crate) rejects: Rejects,
    pub(crate) stop: Stop,
}

impl Block {
    /// Drops the edges; what is known of the types of columns stays.
    pub(crate) fn forget(&mut self) {
        (self.src, self.dst) = (KeyColumn::Int(Vec::new()), KeyColumn::Int(Vec::new()));
        self.columns.iter_mut().for_each(ColumnBuilder::forget);
    }
}

/// Parses the records that start in `start..end` of the data; the last of them may end beyond `end`.
pub(crate) fn parse_block(plan: &Plan, data: &[u8], start: usize, end: usize, complete: bool) -> Block {
    let rows = plan.rows_in(end.saturating_sub(start));
    let keys = || match plan.keys {
        KeyKind::Dense | KeyKind::Int64 => KeyColumn::Int(Vec::with_capacity(rows)),
        KeyKind::Text => KeyColumn::Text(TextValues::default()),
    };
    let columns = plan.properties.iter().map(|property| ColumnBuilder::new(property.kind, rows)).collect();
    let parser = Parser {
        plan,
        data,
        complete,
        fields: Vec::with_capacity(plan.fields + 1),
        cells: Vec::with_capacity(plan.properties.len()),
        block: Block {
            end: start,
            lines: 0,
            src: keys(),
            dst: keys(),
            columns,
            rejects: Rejects::default(),
            stop: Stop::Done,
        },
    };
    parser.run(end)
}

struct Parser<'a> {
    plan: &'a Plan,
    data: &'a [u8],
    complete: bool,
    /// The fields of the record at hand, one more than expected if there are too many.
    fields: Vec<Field>,
    /// Its property values.
    cells: Vec<Cell<'a>>,
    block: Block,
}

/// The keys of a row.
enum Keys<'a> {
    Int(i64, i64),
    Text(Text<'a>, Text<'a>),
    /// Strings where integers were guessed.
    Refuting(Box<Reject>),
}

/// Why a row is not taken.
enum Refusal {
    Bad(Place),
    /// It is good, but the plan is not.
    Widen(Widen),
}

impl From<Place> for Refusal {
    fn from(place: Place) -> Self {
        Refusal::Bad(place)
    }
}

impl<'a> Parser<'a> {
    fn run(mut self, end: usize) -> Block {
        let mut plain = true;
        while self.block.end < end {
            plain = plain && plain_rows(self.plan, self.data, end, &mut self.block);
            let start = self.block.end;
            if start >= end {
                break;
            }
            let room = self.plan.fields + 1;
            match self.plan.dialect.split(self.data, start, self.complete, &mut self.fields, room) {
                Split::Blank { next } => self.advance(next, false),
                Split::Row { next, count, quoted } => match self.row(count) {
                    Ok(()) => self.advance(next, quoted),
                    Err(Refusal::Widen(widen)) => return self.stop(Stop::Widen(widen)),
                    Err(Refusal::Bad(place)) if self.reject(&place) => return self.stop(Stop::Failed),
                    Err(Refusal::Bad(_)) => self.advance(next, quoted),
                },
                Split::Bad { place, next } => {
                    if self.reject(&place) {
                        return self.stop(Stop::Failed);
                    }
                    self.advance(next, false);
                }
                Split::Endless { place } => {
                    let failed = self.reject(&place);
                    self.block.end = self.data.len();
                    return self.stop(if failed { Stop::Failed } else { Stop::Endless });
                }
                Split::Incomplete => return self.stop(Stop::Incomplete),
            }
        }
        self.block
    }

    fn stop(mut self, stop: Stop) -> Block {
        self.block.stop = stop;
        self.block
    }

    /// Moves on to the record at `next`, counting the lines of this one.
    fn advance(&mut self, next: usize, quoted: bool) {
        let record = &self.data[self.block.end..next];
        let lines = if quoted {
            memchr_iter(b'\n', record).count() + usize::from(record.last() != Some(&b'\n'))
        } else {
            1
        };
        self.block.lines += lines as u64;
        self.block.end = next;
    }

    /// Reads the row in `fields` and, if every value is as expected, takes it.
    fn row(&mut self, count: usize) -> Result<(), Refusal> {
        let plan = self.plan;
        if count != plan.fields {
            return Err(self.wrong_count(count).into());
        }
        let keys = self.keys()?;
        let mut refuting = matches!(keys, Keys::Refuting(_));
        self.cells.clear();
        for (property, column) in plan.properties.iter().zip(&self.block.columns) {
            let field = &self.fields[property.field];
            let cell = match property.kind {
                Some(kind) if property.declared => read_declared(self.data, field, kind, &property.name)?,
                _ => read_inferred(self.data, field, column.kind())?,
            };
            refuting |= !column.admits(&cell);
            self.cells.push(cell);
        }
        if refuting {
            return Err(Refusal::Widen(self.refuted(keys)));
        }
        match (keys, &mut self.block.src, &mut self.block.dst) {
            (Keys::Int(src, dst), KeyColumn::Int(sources), KeyColumn::Int(destinations)) => {
                sources.push(src);
                destinations.push(dst);
            }
            (Keys::Text(src, dst), KeyColumn::Text(sources), KeyColumn::Text(destinations)) => {
                src.push_to(sources);
                dst.push_to(destinations);
            }
            // The columns were made for the kind of keys of the plan.
            _ => return Ok(()),
        }
        for (column, cell) in self.block.columns.iter_mut().zip(&self.cells) {
            column.push(cell);
        }
        Ok(())
    }

    fn keys(&self) -> Result<Keys<'a>, Place> {
        let (src, dst) = (&self.fields[self.plan.src], &self.fields[self.plan.dst]);
        let kind = self.plan.keys;
        if kind == KeyKind::Text {
            return Ok(Keys::Text(read_text_key(self.data, src)?, read_text_key(self.data, dst)?));
        }
        match (read_int_key(self.data, src, kind), read_int_key(self.data, dst, kind)) {
            (Ok(src), Ok(dst)) => Ok(Keys::Int(src, dst)),
            (Err(place), _) | (_, Err(place)) if self.plan.keys_inferred => {
                read_text_key(self.data, src)?;
                read_text_key(self.data, dst)?;
                Ok(Keys::Refuting(Box::new(self.describe(&place))))
            }
            (Err(place), _) | (_, Err(place)) => Err(place),
        }
    }

    /// Which guesses the row at hand refutes.
    fn refuted(&self, keys: Keys) -> Widen {
        let columns = self.block.columns.iter().zip(&self.cells).enumerate();
        let refuted = columns.filter(|(_, (column, cell))| !column.admits(cell));
        Widen {
            keys: if let Keys::Refuting(reject) = keys { Some(*reject) } else { None },
            properties: refuted.map(|(position, _)| position).collect(),
        }
    }

    fn wrong_count(&self, count: usize) -> Place {
        let fault = Fault::Fields { found: count, expected: self.plan.fields };
        let at = match (self.fields.get(self.plan.fields), self.fields.last()) {
            (Some(extra), _) => extra.start - usize::from(extra.quoted),
            (None, Some(last)) => last.end + usize::from(last.quoted),
            (None, None) => self.block.end,
        };
        Place::new(at, fault)
    }

    /// Notes a bad line; whether it ends the block.
    fn reject(&mut self, place: &Place) -> bool {
        let raise = self.plan.on_error == OnError::Raise;
        if raise || self.block.rejects.kept.len() < self.plan.rejects_kept {
            let reject = self.describe(place);
            self.block.rejects.kept.push(reject);
        }
        self.block.rejects.count += 1;
        raise
    }

    /// A place in the record at hand for people to find.
    fn describe(&self, place: &Place) -> Reject {
        let start = self.block.end;
        let before = &self.data[start..place.at];
        let line_start = memrchr(b'\n', before).map_or(start, |newline| start + newline + 1);
        let line = &self.data[line_start..];
        let line = &line[..memchr(b'\n', line).unwrap_or(line.len())];
        Reject {
            line: self.block.lines + memchr_iter(b'\n', before).count() as u64 + 1,
            column: u32::try_from(place.at - line_start + 1).unwrap_or(u32::MAX),
            reason: place.fault.to_string(),
            text: clip(line.strip_suffix(b"\r").unwrap_or(line)),
        }
    }
}
