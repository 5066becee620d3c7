//! `evergraph info`: what is in a store, and how much room it takes.

use std::path::{Path, PathBuf};

use clap::Args;
use evergraph::{Property, PropertyId};
use serde::Serialize;

use crate::console::Console;
use crate::error::CommandError;
use crate::layout::LayoutReport;
use crate::progress::Activity;
use crate::store::open_to_read;
use crate::table::{Layout, Side};
use crate::units;

/// Which store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Also where the lists lie, in how many pieces, and what memory is used for
    #[arg(long)]
    layout: bool,
    /// Write a picture of the levels to this file
    #[arg(long, value_name = "FILE", requires = "layout")]
    svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph info votes.eg
  evergraph info votes.eg --layout --svg levels.svg
  evergraph info votes.eg --json | jq .edges";

#[derive(Serialize)]
struct Report<'a> {
    path: &'a Path,
    version: u64,
    keys: Option<String>,
    vertices: u64,
    edges: u64,
    vertex_types: Vec<String>,
    vertex_properties: Vec<NamedType>,
    edge_types: Vec<EdgeTypeReport>,
    log_bytes: u64,
    segments: u64,
    segment_bytes: u64,
    disk_bytes: u64,
    memory_bytes: u64,
    dictionary_bytes: u64,
    allocator_bytes: Option<u64>,
    list_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<LayoutReport>,
}

#[derive(Serialize)]
struct EdgeTypeReport {
    name: String,
    edges: u64,
    multi: bool,
    symmetric: bool,
    time: Option<String>,
    properties: Vec<NamedType>,
}

#[derive(Serialize)]
struct NamedType {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, console: &mut Console) -> Result<(), CommandError> {
    let database = {
        let _activity = Activity::new("opening");
        open_to_read(&args.database)?
    };
    let snapshot = database.snapshot()?;
    let stats = database.stats();
    let schema = snapshot.schema();
    let edges = |name: &str| {
        let found = stats.edge_types.iter().find(|kind| kind.name == name);
        found.map_or(0, |kind| kind.edges)
    };
    let edge_types = schema.live_edge_types().map(|(_, kind)| EdgeTypeReport {
        name: kind.name.clone(),
        edges: edges(&kind.name),
        multi: kind.options.multi,
        symmetric: kind.options.symmetric,
        time: kind.options.time.clone(),
        properties: named_types(kind.properties()),
    });
    let report = Report {
        path: &args.database,
        version: stats.sequence,
        keys: schema.key_kind.map(|kind| kind.to_string()),
        vertices: stats.num_vertices,
        edges: stats.num_edges,
        vertex_types: schema.live_vertex_types().map(|(_, name)| name.to_owned()).collect(),
        vertex_properties: named_types(schema.live_vertex_properties()),
        edge_types: edge_types.collect(),
        log_bytes: stats.log_bytes,
        segments: stats.segments,
        segment_bytes: stats.segment_bytes,
        disk_bytes: stats.disk_bytes,
        memory_bytes: stats.memory_bytes,
        dictionary_bytes: stats.dictionary_bytes,
        allocator_bytes: stats.allocator_bytes,
        list_format: stats.format.name(),
        layout: args.layout.then(|| LayoutReport::new(&snapshot.store_version().layout(), &stats)),
    };
    if let (Some(path), Some(layout)) = (&args.svg, &report.layout) {
        std::fs::write(path, layout.svg()).map_err(CommandError::file(path))?;
    }
    console.result(&report, text)
}

fn named_types<'a>(properties: impl Iterator<Item = (PropertyId, &'a Property)>) -> Vec<NamedType> {
    properties
        .map(|(_, property)| NamedType { name: property.name.clone(), kind: property.kind.name() })
        .collect()
}

fn text(report: &Report) -> String {
    let fields = [
        ("store", report.path.display().to_string()),
        ("version", report.version.to_string()),
        ("vertices", units::count(report.vertices)),
        ("edges", units::count(report.edges)),
        ("keys", report.keys.clone().unwrap_or_else(|| "none yet".to_owned())),
        (
            "vertex types",
            if report.vertex_types.is_empty() { "none".to_owned() } else { report.vertex_types.join(", ") },
        ),
        ("vertex properties", list(&report.vertex_properties)),
        ("on disk", disk(report)),
        ("in memory", memory(report)),
        ("lists", report.list_format.to_owned()),
    ];
    let lines = fields.iter().map(|(name, value)| format!("{name:<17}  {value}"));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if !report.edge_types.is_empty() {
        let layout = Layout::new([
            ("edge type", Side::Left, 0),
            ("edges", Side::Right, 0),
            ("kind", Side::Left, 0),
            ("properties", Side::Left, 0),
        ]);
        let rows: Vec<Vec<String>> = report.edge_types.iter().map(EdgeTypeReport::row).collect();
        text.push_str("\n\n");
        text.push_str(&layout.table(&rows));
    }
    if let Some(layout) = &report.layout {
        text.push_str("\n\n");
        text.push_str(&layout.text());
    }
    text
}

fn disk(report: &Report) -> String {
    let per_edge = match report.edges {
        0 => String::new(),
        edges => format!(", {} bytes per edge", units::significant(report.disk_bytes as f64 / edges as f64)),
    };
    format!(
        "{} ({} in {}, log {}){per_edge}",
        units::bytes(report.disk_bytes),
        units::bytes(report.segment_bytes),
        units::counted(report.segments, "segment", "segments"),
        units::bytes(report.log_bytes),
    )
}

fn memory(report: &Report) -> String {
    let of_program = report
        .allocator_bytes
        .map_or_else(String::new, |bytes| format!("; the program has {}", units::bytes(bytes)));
    let [graph, keys] = [report.memory_bytes, report.dictionary_bytes].map(units::bytes);
    format!("{graph}, and {keys} of keys{of_program}")
}

fn list(properties: &[NamedType]) -> String {
    if properties.is_empty() {
        return "none".to_owned();
    }
    properties.iter().map(|it| format!("{}: {}", it.name, it.kind)).collect::<Vec<_>>().join(", ")
}

impl EdgeTypeReport {
    fn row(&self) -> Vec<String> {
        let kind = match (self.multi, self.symmetric) {
            (false, false) => "simple",
            (true, false) => "multi",
            (false, true) => "simple, symmetric",
            (true, true) => "multi, symmetric",
        };
        vec![self.name.clone(), units::count(self.edges), kind.to_owned(), list(&self.properties)]
    }
}
