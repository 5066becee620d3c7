//! Links as they are answered: buffers that are filled again and again, so that what is measured is how a store finds links, and
//! not how memory is allocated for each of them.
//!
//! Invariant: once finished, the links are the newest of those offered, in the order of time and then of destination, the
//! latest first.

use std::cmp::Reverse;

use crate::Fault;

/// A link to `dst`, as it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRef<'a> {
    /// The node it leads to.
    pub dst: u64,
    /// When it was written, in microseconds.
    pub time: i64,
    /// The rest.
    pub payload: Payload<'a>,
}

/// What a link has besides its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// How often it was written.
    pub version: i64,
    /// Whether it is shown.
    pub visible: bool,
    /// About 8 bytes.
    pub data: &'a str,
}

/// The newest of the links that were offered.
#[derive(Debug, Default)]
pub struct Links {
    limit: usize,
    /// Fewer than twice the limit.
    rows: Vec<Row>,
    /// The data of all that were kept for a while.
    text: String,
    /// What is not later than this is not among the newest.
    floor: Option<(i64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    time: i64,
    dst: u64,
    version: i64,
    visible: bool,
    /// Where its data lies in the text.
    start: u32,
    end: u32,
}

impl Links {
    /// Forgets all of them; from now on keeps at most `limit`.
    pub fn begin(&mut self, limit: usize) {
        self.limit = limit;
        self.rows.clear();
        self.text.clear();
        self.floor = None;
    }

    /// Offers a link by its time and destination; its payload is asked for if it may be among the newest.
    ///
    /// # Errors
    /// Those of `payload`.
    #[inline]
    pub fn offer<'a>(
        &mut self,
        time: i64,
        dst: u64,
        payload: impl FnOnce() -> Result<Payload<'a>, Fault>,
    ) -> Result<(), Fault> {
        if self.floor.is_some_and(|floor| (time, dst) <= floor) {
            return Ok(());
        }
        let Payload { version, visible, data } = payload()?;
        let start = self.text.len() as u32;
        self.text.push_str(data);
        self.rows.push(Row { time, dst, version, visible, start, end: self.text.len() as u32 });
        if self.rows.len() == 2 * self.limit {
            let (_, oldest, _) = self.rows.select_nth_unstable_by_key(self.limit - 1, latest_first);
            self.floor = Some((oldest.time, oldest.dst));
            self.rows.truncate(self.limit);
        }
        Ok(())
    }

    /// Keeps the newest, newest first.
    pub fn finish(&mut self) {
        self.rows.sort_unstable_by_key(latest_first);
        self.rows.truncate(self.limit);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The links.
    pub fn iter(&self) -> impl Iterator<Item = LinkRef<'_>> {
        self.rows.iter().map(|row| {
            let data = &self.text[row.start as usize..row.end as usize];
            let payload = Payload { version: row.version, visible: row.visible, data };
            LinkRef { dst: row.dst, time: row.time, payload }
        })
    }
}

fn latest_first(row: &Row) -> Reverse<(i64, u64)> {
    Reverse((row.time, row.dst))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of these times and destinations.
    fn newest(links: &mut Links, limit: usize, offered: &[(i64, u64)]) -> Result<Vec<(i64, u64)>, Fault> {
        links.begin(limit);
        for &(time, dst) in offered {
            let data = format!("{time} {dst}");
            links.offer(time, dst, || Ok(Payload { version: 1, visible: true, data: &data }))?;
        }
        links.finish();
        assert!(links.iter().all(|link| link.payload.data == format!("{} {}", link.time, link.dst)));
        Ok(links.iter().map(|link| (link.time, link.dst)).collect())
    }

    #[test]
    fn the_newest_are_kept_newest_first() -> Result<(), Fault> {
        let mut links = Links::default();
        let many: Vec<(i64, u64)> = (0..10_000).map(|number| (number * 7919 % 10_007, 0)).collect();
        let mut sorted = many.clone();
        sorted.sort_unstable_by_key(|&link| Reverse(link));
        assert_eq!(newest(&mut links, 50, &many)?, sorted[..50]);
        let few = [(5, 0), (1, 1), (9, 2), (7, 3), (3, 4), (9, 5)];
        assert_eq!(newest(&mut links, 3, &few)?, [(9, 5), (9, 2), (7, 3)]);
        assert_eq!(newest(&mut links, 50, &[])?, []);
        Ok(())
    }
}
