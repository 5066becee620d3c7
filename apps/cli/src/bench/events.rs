//! `evergraph bench events`: how soon handlers are told, and what watching costs those who write.
//!
//! ```text
//! latency   one view of a fifth of the vertices; updates of random vertices at a fixed rate, each a commit of its own and
//!           stamped with the time of its call; the handler compares the stamp with its clock
//! ingest    updates as fast as they go, in transactions of 100, by one thread: with no handler, with a thousand views of
//!           the same vertices whose handlers are told of something else, and with a hundred of them told of every update
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use evergraph::{
    CommitError, Database, Event, EventKind, HandlerError, HandlerOptions, KeyKind, Options, PropertyType,
    Subscription, Transaction, Transition, Value, ViewRequest,
};
use parking_lot::Mutex;

use super::command::AddRow;
use super::report::{Bar, Row, Unit};
use crate::error::CommandError;
use crate::progress::Activity;

/// How much to watch, and how long.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EventsArgs {
    /// The graph has so many vertices
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    vertices: u32,
    /// So many updates a second are made while latency is measured
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    rate: u32,
    /// So many views are watched while ingest is measured
    #[arg(long, value_name = "N", default_value_t = 1000)]
    views: u32,
    /// Each measurement takes so many seconds
    #[arg(long, value_name = "N", default_value_t = 5)]
    seconds: u32,
}

const UPDATES_PER_COMMIT: u32 = 100;
const TURNS: usize = 3;
/// So many handlers at most are told of every update: told a thousand times each, that would be a hundred million a second.
const TOLD_OF_ALL: u32 = 100;

/// Measures everything.
pub(super) fn measure(args: EventsArgs, add: &mut AddRow) -> Result<(), CommandError> {
    let activity = Activity::new("putting vertices");
    let database = database(args)?;
    activity.say("measuring latency".to_owned());
    latency(args, &database)?.into_iter().try_for_each(&mut *add)?;
    activity.say("measuring ingest".to_owned());
    ingest(args, &database, &activity)?.into_iter().try_for_each(&mut *add)?;
    Ok(database.close()?)
}

fn database(args: EventsArgs) -> Result<Database, CommandError> {
    let database = Database::in_memory(Options { keys: Some(KeyKind::Dense), ..Options::default() });
    let properties = ["part", "stamp", "alarm"].map(|name| (name, PropertyType::Int64));
    database.create_vertex_type("Sensor", &properties)?;
    for start in (0..args.vertices).step_by(10_000) {
        let mut transaction = database.begin()?;
        for key in start..args.vertices.min(start + 10_000) {
            let part = [("part", Value::Int(i64::from(key % 5)))];
            transaction.put_vertex(i64::from(key), Some("Sensor"), &part).map_err(CommitError::from)?;
        }
        transaction.commit()?;
    }
    Ok(database)
}

/// A vertex after another, in an order that looks random.
struct Keys {
    state: u64,
    vertices: u64,
}

impl Keys {
    fn next(&mut self) -> i64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % self.vertices) as i64
    }
}

fn options(name: String, property: &str) -> HandlerOptions {
    let (kinds, properties) = (vec![EventKind::Property], vec![property.to_owned()]);
    HandlerOptions { kinds, properties, ..HandlerOptions::new(name) }
}

fn fifth(database: &Database, name: &str, predicate: String) -> Result<evergraph::View, CommandError> {
    let request = ViewRequest { vertices_where: Some(predicate), ..ViewRequest::default() };
    Ok(database.views().create(name, &request)?)
}

/// From the call that updates to the start of the handler.
fn latency(args: EventsArgs, database: &Database) -> Result<Vec<Row>, CommandError> {
    let view = fifth(database, "fifth", "part = 0".to_owned())?;
    let (clock, seen) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let told = seen.clone();
    let handler = move |events: &[Event], _: Option<&mut Transaction>| {
        let now = clock.elapsed().as_nanos() as i64;
        let stamps = events.iter().filter_map(|event| match &event.transition {
            Transition::Changed { new: Value::Int(stamp), .. } => Some(now - stamp),
            _ => None,
        });
        told.lock().extend(stamps);
        Ok::<(), HandlerError>(())
    };
    let subscription = view.on_update(options("latency".to_owned(), "stamp"), handler)?;
    let mut keys = Keys { state: 1, vertices: args.vertices.into() };
    let start = Instant::now();
    let updates = args.rate * args.seconds;
    for update in 0..updates {
        let due = Duration::from_secs_f64(f64::from(update) / f64::from(args.rate));
        if let Some(early) = due.checked_sub(start.elapsed()).filter(|early| early.as_micros() > 100) {
            std::thread::sleep(early);
        }
        let stamp = [("stamp", Value::Int(clock.elapsed().as_nanos() as i64))];
        database.put_vertex(keys.next(), None, &stamp)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    subscription.wait(database.snapshot()?.version(), Duration::from_secs(60));
    subscription.stop();
    view.drop_view()?;
    let mut latencies = std::mem::take(&mut *seen.lock());
    latencies.sort_unstable();
    let share = |share: f64| {
        let at = (latencies.len() as f64 * share) as usize;
        latencies.get(at.min(latencies.len().saturating_sub(1))).map_or(0.0, |nanos| *nanos as f64 / 1e9)
    };
    let rate = format!("{:.0} updates/s, {} events", f64::from(updates) / seconds, latencies.len());
    Ok(vec![
        Row::new("told, median", Unit::Seconds, share(0.5), None)
            .bar(Bar::Value(0.001))
            .agreement(true, rate),
        Row::new("told, p99", Unit::Seconds, share(0.99), None).bar(Bar::Value(0.020)),
    ])
}

/// Updates a second by one thread.
fn rate(args: EventsArgs, database: &Database) -> Result<f64, CommandError> {
    let mut keys = Keys { state: 7, vertices: args.vertices.into() };
    let (start, mut updates) = (Instant::now(), 0u32);
    while start.elapsed() < Duration::from_secs(args.seconds.into()) {
        let mut transaction = database.begin()?;
        for _ in 0..UPDATES_PER_COMMIT {
            let stamp = [("stamp", Value::Int(i64::from(updates)))];
            transaction.put_vertex(keys.next(), None, &stamp).map_err(CommitError::from)?;
            updates += 1;
        }
        transaction.commit()?;
    }
    Ok(f64::from(updates) / start.elapsed().as_secs_f64())
}

/// Puts a handler to work on each view.
fn watch(
    count: u32,
    database: &Database,
    property: &str,
    activity: &Activity,
) -> Result<Vec<Subscription>, CommandError> {
    let ignore = |_: &[Event], _: Option<&mut Transaction>| Ok::<(), HandlerError>(());
    let mut subscriptions = Vec::new();
    for number in 0..count {
        activity.say(format!("putting handlers to work ({number} of {count})"));
        let view = database.views().get(&format!("view {number}"))?;
        subscriptions.push(view.on_update(options(format!("handler of {property}"), property), ignore)?);
    }
    Ok(subscriptions)
}

/// How much writing loses.
fn ingest(args: EventsArgs, database: &Database, activity: &Activity) -> Result<Vec<Row>, CommandError> {
    for number in 0..args.views {
        // The same vertices, by as many different predicates.
        fifth(database, &format!("view {number}"), format!("part = 0 and id >= {}", -i64::from(number)))?;
    }
    let mut rows = Vec::new();
    let told = args.views.min(TOLD_OF_ALL);
    for (property, name, count) in [("alarm", "update, watched", args.views), ("stamp", "update, told", told)]
    {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            activity.say("measuring ingest without handlers".to_owned());
            without.push(1.0 / rate(args, database)?);
            let subscriptions = watch(count, database, property, activity)?;
            activity.say("measuring ingest with handlers".to_owned());
            with.push(1.0 / rate(args, database)?);
            activity.say("stopping handlers".to_owned());
            subscriptions.iter().for_each(Subscription::stop);
            if args.views == 0 {
                break;
            }
        }
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let (with, without) = (median(&mut with), median(&mut without));
        let row = Row::new(name, Unit::Seconds, with, Some(without));
        let told = format!("{count} handlers, {:.0} updates/s", 1.0 / with);
        // At most 30% less in the same time.
        let row = if property == "alarm" { row.bar(Bar::Ratio(1.0 / 0.7)) } else { row };
        rows.push(row.agreement(true, told));
    }
    Ok(rows)
}
