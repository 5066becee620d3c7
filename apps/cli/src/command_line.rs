//! The commands, and the way from arguments to an exit code.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error};
use clap::{CommandFactory, Parser, Subcommand};

use crate::console::{Console, notice};
use crate::error::{CommandError, DONE};
use crate::run_args::RunArgs;
use crate::{
    backup, bench, check, compact, crash, demo, events, export, generate, info, load, run as run_command,
    stream, views, window,
};

/// One store for graphs that never stop changing.
#[derive(Debug, Parser)]
#[command(name = "evergraph", bin_name = "evergraph", version, after_help = EXAMPLES, max_term_width = 100)]
struct CommandLine {
    /// Write the result as one line of JSON
    #[arg(long, global = true, display_order = 100)]
    json: bool,
    /// How many threads work, 1 to 256 [default: one per core]
    #[arg(long, global = true, value_name = "N", display_order = 101, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  evergraph load votes.eg wiki-Vote.txt.gz       a text edge list into an on-disk store
  evergraph info votes.eg                        what is in it
  evergraph run pagerank votes.eg --top 10       an algorithm on the latest snapshot
  evergraph export votes.eg votes.csv            and out again
  evergraph check votes.eg                       every checksum and invariant
  evergraph backup votes.eg copy.eg              a copy, as a store of its own
  evergraph demo                                 see all of it at work in under a minute

Each command has more: evergraph load --help

Exit codes: 0 done, 1 the data says no, 2 wrong usage.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Load text files of edges into a store
    Load(load::LoadArgs),
    /// Show what is in a store
    Info(info::InfoArgs),
    /// Run an algorithm on the latest snapshot
    #[command(subcommand)]
    Run(RunArgs),
    /// List, make, drop and rename named views
    Views(views::ViewsArgs),
    /// Write what changes in a named view, event by event
    Events(events::EventsArgs),
    /// Show the recent edges of a store, window by window
    Window(window::WindowArgs),
    /// Write the edges of a store to a text file
    Export(export::ExportArgs),
    /// Write the commits of a store, edge by edge
    Stream(stream::StreamArgs),
    /// Verify every checksum and invariant of a store
    Check(check::CheckArgs),
    /// Rewrite a store as one segment, where reading is fastest
    Compact(compact::CompactArgs),
    /// Copy the newest version of a store to a store of its own
    Backup(backup::BackupArgs),
    /// Make a random graph
    Generate(generate::GenerateArgs),
    /// Measure Evergraph against a plain immutable CSR, in one run
    Bench(bench::BenchArgs),
    /// Watch a graph being loaded, changed, analyzed, killed in mid-stream and recovered
    Demo(demo::DemoArgs),
    /// Tell by how much a process grows that loads a file (bench runs this)
    #[command(hide = true)]
    BenchMemory(bench::MemoryArgs),
    /// Tell by how much a process grows that ingests a graph (bench memory runs this)
    #[command(hide = true)]
    BenchIngestMemory(bench::ChildArgs),
    /// Run algorithms in a process that may have only so much memory (bench outofcore runs this)
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    BenchBounded(bench::BoundedArgs),
    /// Measure the same work as with other numbers of threads (bench scaling runs this)
    #[command(hide = true)]
    BenchScaling(bench::PassArgs),
    /// Write to a store until killed (the demo and the tests do the killing)
    #[command(hide = true)]
    DemoWriter(crash::WriterArgs),
}

/// Runs the command line `args`, the program's name first, and returns the exit code.
pub fn run(args: Vec<OsString>) -> i32 {
    match std::env::current_exe() {
        Ok(program) => run_as(&[program.into()], args),
        Err(error) => finish(Err(error.into())),
    }
}

/// Like [`run`], inside another program: `program` is the command, with its first arguments, that starts this command
/// line in a new process, which the demo does.
pub fn run_as(program: &[OsString], args: Vec<OsString>) -> i32 {
    match parse(args) {
        Ok(command_line) => finish(command_line.dispatch(program)),
        Err(error) => {
            // Help goes to standard output, and nobody is left to tell if it is closed.
            let _ = error.print();
            error.exit_code()
        }
    }
}

/// The command line, under the name of the command whatever program runs it.
fn parse<A: Into<OsString> + Clone>(args: impl IntoIterator<Item = A>) -> Result<CommandLine, Error> {
    CommandLine::try_parse_from(args).map_err(|mut error| {
        if let Some(ContextValue::Strings(names)) = error.get(ContextKind::ValidSubcommand) {
            let command = CommandLine::command();
            let is_hidden =
                |name: &String| command.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
            let shown = names.iter().filter(|name| !is_hidden(name)).cloned().collect();
            error.insert(ContextKind::ValidSubcommand, ContextValue::Strings(shown));
        }
        error
    })
}

impl CommandLine {
    fn dispatch(&self, program: &[OsString]) -> Result<(), CommandError> {
        if let Some(threads) = self.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
            pool.map_err(|error| CommandError::Usage(format!("--threads {threads}: {error}")))?;
        }
        let console = &mut Console::new(self.json);
        match &self.command {
            Command::Load(args) => load::run(args, console),
            Command::Info(args) => info::run(args, console),
            Command::Run(args) => run_command::run(args, console),
            Command::Views(args) => views::run(args, console),
            Command::Events(args) => events::run(args, console),
            Command::Window(args) => window::run(args, console),
            Command::Export(args) => export::run(args, console),
            Command::Stream(args) => stream::run(args, console),
            Command::Check(args) => check::run(args, console),
            Command::Compact(args) => compact::run(args, console),
            Command::Backup(args) => backup::run(args, console),
            Command::Generate(args) => generate::run(args, console),
            Command::Bench(args) => bench::run(args, program, console),
            Command::Demo(args) => demo::run(args, program, console),
            Command::BenchMemory(args) => bench::measure_memory(args, console),
            Command::BenchIngestMemory(args) => bench::measure_child(args, console),
            #[cfg(target_os = "linux")]
            Command::BenchBounded(args) => bench::measure_bounded(args, console),
            Command::BenchScaling(args) => bench::measure_pass(args, console),
            Command::DemoWriter(args) => crash::write(args),
        }?;
        console.flush()
    }
}

fn finish(result: Result<(), CommandError>) -> i32 {
    let Err(error) = result else { return DONE };
    if !error.is_silent() {
        notice(format_args!("error: {}", error.message()));
    }
    error.exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        fn without_examples(command: &mut clap::Command, found: &mut Vec<String>) {
            if !command.render_long_help().to_string().contains("Example") {
                found.push(command.get_name().to_owned());
            }
            let shown = command.get_subcommands_mut();
            let shown = shown.filter(|command| !command.is_hide_set() && command.get_name() != "help");
            shown.for_each(|command| without_examples(command, found));
        }
        let mut without = Vec::new();
        without_examples(&mut CommandLine::command(), &mut without);
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn commands_for_the_program_itself_are_not_listed() {
        let message = parse(["evergraph", "--json"]).unwrap_err().to_string();
        assert!(message.contains("load, info, run") && message.contains("demo, help"), "{message}");
        assert!(!message.contains("bench-") && !message.contains("demo-"), "{message}");
    }

    #[test]
    fn the_command_has_its_name_whatever_runs_it() {
        for arguments in [vec!["lib/__main__.py", "--help"], vec!["lib/__main__.py", "info", "--help"]] {
            let help = parse(arguments).unwrap_err().to_string();
            assert!(help.contains("Usage: evergraph ") && !help.contains("__main__"), "{help}");
        }
    }
}
