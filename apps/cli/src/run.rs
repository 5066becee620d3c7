//! `evergraph run`: an algorithm of the registry on the latest snapshot of a store, or on one of the past.

use std::time::Instant;

use evergraph::Snapshot;
use evergraph::algorithms::{Argument, Arguments, Check, Kind, Value};

use crate::console::Console;
use crate::error::CommandError;
use crate::progress::{Activity, watch};
use crate::run_args::RunArgs;
use crate::run_report::Report;
use crate::store::{open_to_read, vertex};

/// Runs the command.
pub(crate) fn run(args: &RunArgs, console: &mut Console) -> Result<(), CommandError> {
    let snapshot = {
        let _activity = Activity::new("opening");
        let database = open_to_read(&args.common.database)?;
        match (&args.common.view, args.common.at) {
            (None, None) => database.snapshot()?,
            (None, Some(at)) => database.snapshot_at(at)?,
            (Some(name), _) => database.views().get(name)?.latest()?.snapshot(),
        }
    };
    let snapshot = match args.common.edge_types.iter().map(String::as_str).collect::<Vec<_>>() {
        all if all.is_empty() => snapshot,
        names => snapshot.with_edge_types(&names)?,
    };
    let mut arguments = Arguments::new();
    for (argument, texts) in &args.given {
        arguments = arguments.with(argument.name, value(&snapshot, argument, texts)?);
    }
    let check = if args.common.verify { Check::Verify } else { Check::Skip };
    let start = Instant::now();
    let outcome = watch(args.algorithm.name, |control| {
        let outcome = args.algorithm.run(&snapshot, &arguments, check, control);
        outcome.map_err(|error| CommandError::InGraph { message: error.with_keys(&snapshot), error })
    })?;
    let seconds = start.elapsed().as_secs_f64();
    Report { args, snapshot: &snapshot, outcome: &outcome, seconds }.write(console)
}

/// The value that the texts of an argument stand for.
fn value(snapshot: &Snapshot, argument: &Argument, texts: &[String]) -> Result<Value, CommandError> {
    match (argument.kind, texts) {
        (Kind::Vertex, [.., key]) => Ok(Value::Vertex(vertex(snapshot, key)?)),
        (Kind::Vertices, keys) => {
            let ids: Result<_, _> = keys.iter().map(|key| vertex(snapshot, key)).collect();
            Ok(Value::Vertices(ids?))
        }
        (Kind::FloatOrWeights, [number]) if !number.contains('=') => Ok(argument.parse(number)?),
        (Kind::Weights | Kind::FloatOrWeights, pairs) => {
            let mut weights = vec![0.0; evergraph::GraphView::id_bound(snapshot) as usize];
            for pair in pairs {
                let (key, weight) = weighted_key(argument, pair)?;
                weights[vertex(snapshot, key)? as usize] = weight;
            }
            Ok(Value::Weights(weights))
        }
        (_, [.., last]) => Ok(argument.parse(last)?),
        (_, []) => Err(CommandError::Usage(format!("argument {} needs a value", argument.name))),
    }
}

/// `KEY=WEIGHT` taken apart at the last sign: keys may have one, weights do not.
fn weighted_key<'a>(argument: &Argument, pair: &'a str) -> Result<(&'a str, f64), CommandError> {
    let parts = pair.rsplit_once('=').and_then(|(key, weight)| Some((key, weight.parse().ok()?)));
    parts
        .ok_or_else(|| CommandError::Usage(format!("argument {}: {pair:?} is not KEY=WEIGHT", argument.name)))
}
