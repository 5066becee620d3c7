//! `evergraph events`: what commits have changed in a named view, event by event.

use std::path::PathBuf;

use clap::Args;
use evergraph::{Event, EventKind, HandlerOptions, Subject, Transition, Value};
use serde::{Serialize, Serializer};

use crate::cell::KeyCell;
use crate::console::Console;
use crate::error::CommandError;
use crate::follow::FollowArgs;
use crate::store::open_to_read;

/// Of which view, and which events.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EventsArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The view
    #[arg(value_name = "VIEW")]
    view: String,
    /// Only events of this kind; may be repeated [default: all kinds]
    #[arg(long = "kind", value_name = "KIND", value_parser = ["vertex", "edge", "property"])]
    kinds: Vec<String>,
    /// Of property events, only those of this property; may be repeated [default: all properties]
    #[arg(long = "property", value_name = "NAME")]
    properties: Vec<String>,
    /// Begin with the commit after this version [default: when the view was made, or with all that is kept]
    #[arg(long, value_name = "VERSION")]
    from: Option<u64>,
    #[command(flatten)]
    follow: FollowArgs,
}

const EXAMPLES: &str = "\
Examples:
  evergraph events roads.eg center
  evergraph events roads.eg center --kind property --property speed --from 1200
  evergraph --json events roads.eg center --follow

A line has the version, the kind, what happened, the vertex, or source, destination and type of the edge, and for property \
events the property with its old and its new value; tabs between. What there is is given, and then it ends, unless it is to follow. \
With --follow the store is opened whenever it has changed and nobody else writes, and left alone in between. The program that \
writes to a store says how much of its past is kept. Nothing is written: the handlers that programs have of a view are told, and \
remembered, apart from this.";

#[derive(Serialize)]
struct Line {
    version: u64,
    kind: &'static str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vertex: Option<KeyCell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<(KeyCell, KeyCell, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    property: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<ValueCell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<ValueCell>,
}

impl Line {
    fn of(event: Event) -> Self {
        let (vertex, edge) = match event.subject {
            Subject::Vertex(key) => (Some(KeyCell(key)), None),
            Subject::Edge(src, dst, edge_type) => (None, Some((KeyCell(src), KeyCell(dst), edge_type))),
        };
        let (change, property, old, new) = match event.transition {
            Transition::Added => ("added", None, None, None),
            Transition::Removed => ("removed", None, None, None),
            Transition::Changed { property, old, new } => {
                ("changed", Some(property), Some(ValueCell(old)), Some(ValueCell(new)))
            }
        };
        Line { version: event.version, kind: event.kind.name(), change, vertex, edge, property, old, new }
    }

    fn text(&self) -> String {
        let mut fields = vec![self.version.to_string(), self.kind.to_owned(), self.change.to_owned()];
        fields.extend(self.vertex.iter().map(KeyCell::to_string));
        if let Some((src, dst, edge_type)) = &self.edge {
            fields.extend([src.to_string(), dst.to_string(), edge_type.clone()]);
        }
        fields.extend(self.property.clone());
        fields.extend([&self.old, &self.new].into_iter().flatten().map(|value| value.0.to_string()));
        fields.join("\t")
    }
}

/// A value for machines; for people as it shows itself, strings quoted.
struct ValueCell(Value);

impl Serialize for ValueCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json(&self.0).serialize(serializer)
    }
}

/// A value as JSON has it; what JSON has no form for, as its text.
fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::UInt(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(values) => values.iter().map(json).collect(),
        other => other.to_string().into(),
    }
}

/// Runs the command.
pub(crate) fn run(args: &EventsArgs, console: &mut Console) -> Result<(), CommandError> {
    args.follow.run(&args.database, args.from, |after| give(args, after, console))
}

/// Gives the events there are after a version, and tells up to which.
fn give(args: &EventsArgs, after: Option<u64>, console: &mut Console) -> Result<u64, CommandError> {
    let database = open_to_read(&args.database)?;
    let mut options = HandlerOptions::new(&args.view);
    if !args.kinds.is_empty() {
        options.kinds = args.kinds.iter().filter_map(|name| EventKind::from_name(name)).collect();
    }
    options.properties.clone_from(&args.properties);
    let mut events = database.views().get(&args.view)?.events(after, options)?;
    while let Some(event) = events.next()? {
        console.result(&Line::of(event), Line::text)?;
    }
    console.flush()?;
    Ok(events.position())
}
