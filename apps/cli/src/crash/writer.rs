//! The writer process: durable transactions from several threads, each acknowledged on standard output once its commit
//! has returned, until somebody kills it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use clap::Args;
use evergraph::{Database, EdgeTypeOptions, Options};

use super::ledger::{EDGE_TYPE, fill, states};
use crate::error::CommandError;
use crate::load_values::DurabilityArg;

/// What the writer process is told.
#[derive(Debug, Args)]
pub(crate) struct WriterArgs {
    /// The store, created if absent
    directory: PathBuf,
    /// How many threads commit
    #[arg(long, default_value_t = 4)]
    writers: u64,
    /// When a commit is acknowledged
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,
    /// Archive what is in memory this often as well
    #[arg(long, value_name = "MS")]
    checkpoint_milliseconds: Option<u64>,
}

/// Runs the command. It ends only by failing, for instance when nobody reads the acknowledgements any more.
pub(crate) fn write(args: &WriterArgs) -> Result<(), CommandError> {
    let options = Options { durability: args.durability.into(), ..Options::default() };
    let database = Database::open(&args.directory, options)?;
    let snapshot = database.snapshot()?;
    if snapshot.schema().edge_type(EDGE_TYPE).is_none() {
        database.create_edge_type(EDGE_TYPE, EdgeTypeOptions::default())?;
    }
    let starts = states(&snapshot, args.writers)?;
    drop(snapshot);
    let (failed, failure) = channel();
    for (writer, start) in (0..).zip(starts) {
        let (database, failed) = (database.clone(), failed.clone());
        // Whoever fails first ends the process, so nobody listens to the second.
        thread::spawn(move || drop(failed.send(write_forever(&database, writer, start))));
    }
    if let Some(milliseconds) = args.checkpoint_milliseconds {
        thread::spawn(move || {
            drop(failed.send(checkpoint_forever(&database, Duration::from_millis(milliseconds))))
        });
    }
    failure.recv().unwrap_or(Ok(()))
}

fn write_forever(database: &Database, writer: u64, start: u64) -> Result<(), CommandError> {
    const RETRIES: u32 = 8;
    for number in start.. {
        database.transact(RETRIES, |transaction| fill(transaction, writer, number))?;
        acknowledge(writer, number)?;
    }
    Ok(())
}

/// One line in one write, so that lines of several threads do not mix and a kill cuts at most the last.
fn acknowledge(writer: u64, number: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{writer} {number}\n").as_bytes())?;
    out.flush()
}

fn checkpoint_forever(database: &Database, pause: Duration) -> Result<(), CommandError> {
    loop {
        thread::sleep(pause);
        database.checkpoint()?;
    }
}
