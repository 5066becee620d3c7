//! Tables in plain text: numbers to the right, the rest to the left, two blanks between columns, a line below the titles.
//!
//! ```text
//! vertex      score
//! ------  ---------
//! 4037     0.004613
//! ```

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// Which side of its column a cell leans to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Titles, and how wide each column is at least; rows may be laid out as they come.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    columns: Vec<(String, Side, usize)>,
}

impl Layout {
    /// Columns of these titles and least widths.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Side, usize)>) -> Self {
        let column = |(title, side, width): (&str, Side, usize)| {
            let width = width.max(title.width());
            (title.to_owned(), side, width)
        };
        Layout { columns: columns.into_iter().map(column).collect() }
    }

    /// The two lines above the rows.
    pub(crate) fn head(&self) -> String {
        let titles: Vec<String> = self.columns.iter().map(|(title, ..)| title.clone()).collect();
        let rules: Vec<String> = self.columns.iter().map(|&(.., width)| "-".repeat(width)).collect();
        format!("{}\n{}", self.row(&titles), self.row(&rules))
    }

    /// One row, without the line end. A cell that is too wide moves the rest.
    pub(crate) fn row(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for ((_, side, width), cell) in self.columns.iter().zip(cells) {
            let cell = printable(cell);
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            let parts = match side {
                Side::Left => [&cell, padding.as_str(), "  "],
                Side::Right => [padding.as_str(), &cell, "  "],
            };
            line.extend(parts);
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// A whole table, every column as wide as its widest cell.
    pub(crate) fn table(mut self, rows: &[Vec<String>]) -> String {
        for row in rows {
            for (column, cell) in self.columns.iter_mut().zip(row) {
                column.2 = column.2.max(printable(cell).width());
            }
        }
        let lines = rows.iter().map(|row| self.row(row));
        std::iter::once(self.head()).chain(lines).collect::<Vec<_>>().join("\n")
    }
}

/// A cell as a terminal can be shown it: keys and names come from anywhere, and one with a line end or an escape would be obeyed.
fn printable(cell: &str) -> Cow<'_, str> {
    if !cell.contains(char::is_control) {
        return Cow::Borrowed(cell);
    }
    let escaped = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    Cow::Owned(cell.chars().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let layout = Layout::new([("vertex", Side::Left, 0), ("score", Side::Right, 0)]);
        let rows = [["4037", "0.5"], ["1234567", "0.25"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "vertex   score\n-------  -----\n4037       0.5\n1234567   0.25";
        assert_eq!(layout.table(&rows), expected);
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let layout = Layout::new([("vertex", Side::Left, 0), ("score", Side::Right, 0)]);
        let rows = [["a\nb\u{1b}[2J", "0.5"], ["ä", "0.25"]].map(|row| row.map(str::to_owned).to_vec());
        let expected =
            "vertex         score\n-------------  -----\na\\nb\\u{1b}[2J    0.5\nä               0.25";
        assert_eq!(layout.table(&rows), expected);
    }

    #[test]
    fn signs_are_as_wide_as_a_terminal_shows_them() {
        let layout = Layout::new([("vertex", Side::Left, 0), ("score", Side::Right, 0)]);
        let rows = [["東京", "0.5"], ["e\u{301}", "0.25"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "vertex  score\n------  -----\n東京      0.5\ne\u{301}        0.25";
        assert_eq!(layout.table(&rows), expected);
    }

    #[test]
    fn rows_that_come_one_by_one_keep_the_least_width() {
        let layout =
            Layout::new([("what", Side::Left, 6), ("ratio", Side::Right, 7), ("bar", Side::Left, 0)]);
        let row = ["bfs", "1.10", ""].map(str::to_owned);
        assert_eq!(layout.row(&row), "bfs        1.10");
        assert!(layout.head().starts_with("what      ratio  bar\n------  -------"));
    }
}
