//! `evergraph info --layout`: where the lists of a store lie and what that costs, as tables and as a picture.

use std::fmt::Write;

use evergraph::{Direction, Stats, StoreLayout};
use serde::Serialize;

use crate::table::{Layout, Side};
use crate::units;

/// The layout for machines.
#[derive(Serialize)]
pub(crate) struct LayoutReport {
    fragments_per_list: Option<f64>,
    space_amplification: Option<f64>,
    bytes_per_entry: Option<f64>,
    levels: Vec<LevelReport>,
    tables: Vec<TableReport>,
    memory: Vec<(&'static str, u64)>,
}

#[derive(Serialize)]
struct LevelReport {
    segment: Option<u64>,
    bytes: u64,
    live_bytes: u64,
    other_bytes: u64,
    fragments: u64,
    entries: u64,
    vertices: Option<(u32, u32)>,
    versions: Option<(u64, u64)>,
    times: Option<(i64, i64)>,
}

#[derive(Serialize)]
struct TableReport {
    edge_type: String,
    direction: &'static str,
    lists: u64,
    entries: u64,
    fragments: u64,
    most_fragments: u64,
    places: u64,
    list_bytes: u64,
    table_bytes: u64,
}

impl LayoutReport {
    pub(crate) fn new(layout: &StoreLayout, stats: &Stats) -> Self {
        let free = stats.allocator_bytes.map(|bytes| bytes.saturating_sub(stats.memory.heap_bytes()));
        let levels = layout.levels.iter().map(|level| LevelReport {
            segment: level.segment,
            bytes: level.bytes,
            live_bytes: level.live_bytes,
            other_bytes: level.other_bytes,
            fragments: level.fragments,
            entries: level.entries,
            vertices: level.vertices,
            versions: level.versions,
            times: level.times,
        });
        let tables = layout.tables.iter().map(|table| TableReport {
            edge_type: table.edge_type.clone(),
            direction: if table.direction == Direction::Out { "out" } else { "in" },
            lists: table.lists,
            entries: table.entries,
            fragments: table.fragments,
            most_fragments: table.most_fragments,
            places: table.places,
            list_bytes: table.list_bytes,
            table_bytes: table.table_bytes,
        });
        LayoutReport {
            fragments_per_list: layout.fragments_per_list(),
            space_amplification: layout.space_amplification(),
            bytes_per_entry: layout.bytes_per_entry(),
            levels: levels.collect(),
            tables: tables.collect(),
            memory: stats
                .memory
                .parts()
                .into_iter()
                .chain(free.map(|bytes| ("free, and the program's", bytes)))
                .collect(),
        }
    }

    /// As tables.
    pub(crate) fn text(&self) -> String {
        let per = |of: u64, by: u64| ratio((by > 0).then(|| of as f64 / by as f64));
        let columns = [
            ("lists", Side::Left, 0),
            ("not empty", Side::Right, 0),
            ("entries", Side::Right, 0),
            ("fragments per list", Side::Right, 0),
            ("most", Side::Right, 0),
            ("places", Side::Right, 0),
            ("bytes per entry", Side::Right, 0),
            ("with the table", Side::Right, 0),
        ];
        let rows = self.tables.iter().map(|table| {
            vec![
                format!("{}, {}", table.edge_type, table.direction),
                units::count(table.lists),
                units::count(table.entries),
                per(table.fragments, table.lists),
                units::count(table.most_fragments),
                units::count(table.places),
                per(table.list_bytes, table.entries),
                per(table.list_bytes + table.table_bytes, table.entries),
            ]
        });
        let lists = Layout::new(columns).table(&rows.collect::<Vec<_>>());
        let columns = [
            ("level", Side::Left, 0),
            ("takes", Side::Right, 0),
            ("of it lists", Side::Right, 0),
            ("else needed", Side::Right, 0),
            ("runs", Side::Right, 0),
            ("entries", Side::Right, 0),
            ("versions", Side::Right, 0),
            ("times", Side::Left, 0),
        ];
        let rows = self.levels.iter().map(|level| {
            vec![
                level.name(),
                units::bytes(level.bytes),
                units::bytes(level.live_bytes),
                units::bytes(level.other_bytes),
                units::count(level.fragments),
                units::count(level.entries),
                level.versions.map_or_else(String::new, |(lower, upper)| format!("{} to {upper}", lower + 1)),
                level.times.map_or_else(String::new, |(least, greatest)| format!("{least} to {greatest}")),
            ]
        });
        let levels = Layout::new(columns).table(&rows.collect::<Vec<_>>());
        let columns = [("memory", Side::Left, 0), ("takes", Side::Right, 0)];
        let used = self.memory.iter().filter(|part| part.1 > 0);
        let rows = used.map(|(name, bytes)| vec![(*name).to_owned(), units::bytes(*bytes)]);
        let memory = Layout::new(columns).table(&rows.collect::<Vec<_>>());
        format!("{lists}\n\n{levels}\n\nspace amplification  {}\n\n{memory}", ratio(self.space_amplification))
    }

    /// As a picture: each level a bar from its least to its greatest vertex, as high as it is large, the part that lists
    /// reach filled.
    pub(crate) fn svg(&self) -> String {
        const WIDTH: f64 = 800.0;
        const LEFT: f64 = 150.0;
        const FULL: f64 = 80.0;
        let most = self.levels.iter().map(|level| level.bytes).max().unwrap_or(0).max(1) as f64;
        let greatest = self.levels.iter().filter_map(|level| level.vertices).map(|ends| ends.1).max();
        let last = f64::from(greatest.unwrap_or(0)) + 1.0;
        let (mut body, mut top) = (String::new(), 30.0);
        for level in &self.levels {
            let height = (FULL * level.bytes as f64 / most).max(3.0);
            let filled = height * level.live_bytes as f64 / level.bytes.max(1) as f64;
            let (from, to) = level.vertices.unwrap_or((0, 0));
            let left = LEFT + WIDTH * f64::from(from) / last;
            let width = (WIDTH * (f64::from(to) - f64::from(from) + 1.0) / last).max(1.0);
            // Writing to a string does not fail.
            let _ = writeln!(
                body,
                "<text x=\"8\" y=\"{:.1}\">{}</text>\n\
                 <rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#cdd9e5\"/>\n\
                 <rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{filled:.1}\" fill=\"#2f6f9f\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}, {} in lists</text>",
                top + 12.0,
                level.name(),
                top + height - filled,
                LEFT + WIDTH + 10.0,
                top + 12.0,
                units::bytes(level.bytes),
                units::bytes(level.live_bytes),
            );
            top += height.max(16.0) + 10.0;
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1160\" height=\"{:.0}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<text x=\"{LEFT}\" y=\"18\">{}; youngest level first; {} fragments per \
             list, {} bytes per entry</text>\n{body}</svg>\n",
            top + 10.0,
            greatest.map_or_else(
                || "no edges".to_owned(),
                |last| format!("vertices 0 to {}", units::count(last.into()))
            ),
            ratio(self.fragments_per_list),
            ratio(self.bytes_per_entry),
        )
    }
}

/// A ratio, where there is one.
fn ratio(of: Option<f64>) -> String {
    of.map_or_else(|| "–".to_owned(), units::significant)
}

impl LevelReport {
    fn name(&self) -> String {
        self.segment.map_or_else(|| "memory".to_owned(), |number| format!("segment {number}"))
    }
}
