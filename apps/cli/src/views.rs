//! `evergraph views`: the named views of a store, and making, dropping and renaming them.

use std::path::PathBuf;

use clap::Args;
use evergraph::{Database, Key, KeyKind, ViewRequest};
use serde::Serialize;

use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::store::{open_to_read, open_to_write};
use crate::table::{Layout, Side};
use crate::units;

/// Which store, and what to do with its views.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ViewsArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Make a view of this name
    #[arg(long, value_name = "NAME", group = "change")]
    create: Option<String>,
    /// Of these vertices; commas between
    #[arg(long, value_name = "KEYS", value_delimiter = ',', requires = "create")]
    vertices: Vec<String>,
    /// Of the vertices for which this holds
    #[arg(long = "where", value_name = "PREDICATE", requires = "create")]
    vertices_where: Option<String>,
    /// Of the edges for which this holds
    #[arg(long, value_name = "PREDICATE", requires = "create")]
    edges_where: Option<String>,
    /// Keep the vertices found now, whatever changes
    #[arg(long, requires = "create")]
    frozen: bool,
    /// Drop the view of this name
    #[arg(long, value_name = "NAME", group = "change")]
    drop: Option<String>,
    /// Give a view another name
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], group = "change")]
    rename: Option<Vec<String>>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph views roads.eg
  evergraph views roads.eg --create center --where \"district = 'center' and open\"
  evergraph views roads.eg --create toll --edges-where \"type = 'road' and toll > 0\"
  evergraph run pagerank roads.eg --view center
  evergraph views roads.eg --rename center downtown
  evergraph views roads.eg --drop downtown";

#[derive(Serialize)]
struct Report {
    version: u64,
    views: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    definition: String,
    vertices: u64,
    edges: u64,
}

/// Runs the command.
pub(crate) fn run(args: &ViewsArgs, console: &mut Console) -> Result<(), CommandError> {
    let changes = args.create.is_some() || args.drop.is_some() || args.rename.is_some();
    let database = {
        let _activity = Activity::new("opening");
        if changes { open_to_write(&args.database)? } else { open_to_read(&args.database)? }
    };
    if let Some(name) = &args.create {
        database.views().create(name, &request(args, &database)?)?;
    }
    if let Some(name) = &args.drop {
        database.views().get(name)?.drop_view()?;
    }
    if let Some([old, new]) = args.rename.as_deref() {
        database.views().get(old)?.rename(new)?;
    }
    console.result(&report(&database)?, text)?;
    Ok(database.close()?)
}

fn request(args: &ViewsArgs, database: &Database) -> Result<ViewRequest, CommandError> {
    let is_text = database.snapshot()?.schema().key_kind == Some(KeyKind::Text);
    let key = |text: &String| match text.parse::<i64>() {
        Ok(number) if !is_text => Key::Int(number),
        _ => Key::from(text.as_str()),
    };
    Ok(ViewRequest {
        vertices: args.vertices.iter().map(key).collect(),
        vertices_where: args.vertices_where.clone(),
        edges_where: args.edges_where.clone(),
        frozen: args.frozen,
        ..ViewRequest::default()
    })
}

fn report(database: &Database) -> Result<Report, CommandError> {
    let snapshot = database.snapshot()?;
    let mut views = Vec::new();
    for name in database.views().names()? {
        let view = database.views().get(&name)?;
        let statistics = view.statistics(&snapshot)?;
        views.push(Row {
            name,
            definition: view.definition()?.describe(snapshot.schema()),
            vertices: statistics.num_vertices,
            edges: statistics.edges.iter().map(|(_, edges)| edges).sum(),
        });
    }
    Ok(Report { version: snapshot.version(), views })
}

fn text(report: &Report) -> String {
    if report.views.is_empty() {
        return "no views; --create makes one, see --help".to_owned();
    }
    let layout = Layout::new([
        ("view", Side::Left, 0),
        ("vertices", Side::Right, 0),
        ("edges", Side::Right, 0),
        ("made of", Side::Left, 0),
    ]);
    let row = |row: &Row| {
        vec![row.name.clone(), units::count(row.vertices), units::count(row.edges), row.definition.clone()]
    };
    layout.table(&report.views.iter().map(row).collect::<Vec<_>>())
}
