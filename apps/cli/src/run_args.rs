//! The arguments of `evergraph run`: a subcommand for each algorithm, made from the registry, so that an algorithm that
//! is registered is on the command line, with help.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use evergraph::algorithms::{Algorithm, Argument, Kind, algorithm, algorithms};

/// An algorithm, what to run it on, and what to show.
#[derive(Debug)]
pub(crate) struct RunArgs {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) common: CommonArgs,
    /// The algorithm's own arguments that were given, with their texts.
    pub(crate) given: Vec<(&'static Argument, Vec<String>)>,
}

/// What every algorithm takes.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// The store
    #[arg(value_name = "DATABASE")]
    pub(crate) database: PathBuf,
    /// Only edges of this type; may be repeated [default: all types]
    #[arg(long = "edge-type", value_name = "TYPE")]
    pub(crate) edge_types: Vec<String>,
    /// Only the part of the graph that is in this view
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Option<String>,
    /// The graph after this version, or at this time, as far as the store retains it
    #[arg(long, value_name = "VERSION|TIME", value_parser = crate::at::at, conflicts_with = "view")]
    pub(crate) at: Option<evergraph::At>,
    /// Show the N vertices with the largest values, or the N largest groups [default: 10, or all with --json or --csv]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Write the values of the vertices as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Check the result with the slow verifier
    #[arg(long)]
    pub(crate) verify: bool,
}

impl Subcommand for RunArgs {
    fn augment_subcommands(command: Command) -> Command {
        let command = command.after_help(EXAMPLES).subcommand_value_name("ALGORITHM");
        command
            .subcommand_help_heading("Algorithms")
            .subcommands(algorithms().iter().map(|it| subcommand(it)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        algorithm(name).is_some()
    }
}

const EXAMPLES: &str = "\
Examples:
  evergraph run pagerank votes.eg --top 20
  evergraph run bfs votes.eg --source 30 --csv > hops.csv
  evergraph run connected_components votes.eg --json --top 1
  evergraph run triangle_count votes.eg --verify

evergraph run ALGORITHM --help lists what an algorithm takes and gives.";

impl FromArgMatches for RunArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, matches) = matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let algorithm = algorithm(name).ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        let given =
            algorithm.arguments.iter().filter_map(|argument| Some((argument, texts(argument, matches)?)));
        Ok(RunArgs { algorithm, common: CommonArgs::from_arg_matches(matches)?, given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What was given for an argument; none if it was left out.
fn texts(argument: &Argument, matches: &ArgMatches) -> Option<Vec<String>> {
    if is_switch(argument) {
        return matches.get_flag(argument.name).then(|| vec!["true".to_owned()]);
    }
    Some(matches.get_many::<String>(argument.name)?.cloned().collect())
}

/// Whether naming the argument is enough: it is off unless it is named.
fn is_switch(argument: &Argument) -> bool {
    argument.kind == Kind::Flag && argument.default == Some("false")
}

fn subcommand(algorithm: &'static Algorithm) -> Command {
    let command = Command::new(algorithm.name).after_help(about(algorithm));
    let command = if algorithm.name.contains('_') { command.alias(hyphens(algorithm.name)) } else { command };
    // The arguments bring a description of their own, which gives way.
    CommonArgs::augment_args(command).about(algorithm.summary).args(algorithm.arguments.iter().map(option))
}

fn option(argument: &'static Argument) -> Arg {
    let default = match argument.default {
        Some(default) if !is_switch(argument) => format!(" [default: {default}]"),
        _ => String::new(),
    };
    let takes_several = matches!(argument.kind, Kind::Vertices | Kind::Weights | Kind::FloatOrWeights);
    let repeated = if takes_several { "; may be repeated" } else { "" };
    let option = Arg::new(argument.name)
        .long(hyphens(argument.name))
        .help(format!("{}{repeated}{default}", capitalized(argument.summary)));
    let option = if argument.name.contains('_') { option.alias(argument.name) } else { option };
    let option = option.required(argument.default.is_none());
    if is_switch(argument) {
        return option.action(ArgAction::SetTrue);
    }
    let (value, action) = match argument.kind {
        Kind::Flag => ("true|false", ArgAction::Set),
        Kind::Count => ("N", ArgAction::Set),
        Kind::Float => ("X", ArgAction::Set),
        Kind::Vertex => ("KEY", ArgAction::Set),
        Kind::Vertices => ("KEY", ArgAction::Append),
        Kind::Weights => ("KEY=WEIGHT", ArgAction::Append),
        Kind::FloatOrWeights => ("X|KEY=X", ArgAction::Append),
        _ => ("TEXT", ArgAction::Set),
    };
    option.value_name(value).action(action).allow_negative_numbers(true)
}

fn about(algorithm: &Algorithm) -> String {
    let (before, graph, arguments) = example(algorithm);
    let example = format!("evergraph run {} {graph}{arguments}", algorithm.name);
    let results = algorithm.results.iter().map(|field| format!("  {}: {}", field.name, field.summary));
    format!(
        "Gives:\n{}\n\nWork: {}\nMethod: {}\n\nExamples:\n{before}  {example}\n  {example} --json",
        results.collect::<Vec<_>>().join("\n"),
        algorithm.complexity,
        algorithm.source,
    )
}

/// What to do before, a graph, and the arguments that give a result on it. votes.eg is that of the README, and what it does not have
/// is made by a line before.
fn example(algorithm: &Algorithm) -> (&'static str, &'static str, String) {
    match algorithm.name {
        "topological_sort" => (
            "  printf '1 2\\n1 3\\n2 4\\n' > steps.txt\n  evergraph load steps.eg steps.txt\n",
            "steps.eg",
            String::new(),
        ),
        "temporal_reachability" => (
            "  printf 'src,dst,at\\n1,2,10\\n2,3,20\\n' > calls.csv\n  evergraph load calls.eg calls.csv --time at\n",
            "calls.eg",
            " --source 1".to_owned(),
        ),
        // Without pairs they measure all there are, which are too many.
        "common_neighbors"
        | "jaccard_coefficient"
        | "adamic_adar_index"
        | "resource_allocation_index"
        | "preferential_attachment" => ("", "votes.eg", " --u 30 --v 1412".to_owned()),
        "katz_centrality" => ("", "votes.eg", " --alpha 0.01".to_owned()),
        _ => {
            let required = algorithm.arguments.iter().filter(|argument| argument.default.is_none());
            let given = required.zip(["30", "1412"].iter().cycle());
            let given = given.map(|(argument, key)| format!(" --{} {key}", hyphens(argument.name)));
            ("", "votes.eg", given.collect())
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn hyphens(name: &str) -> String {
    name.replace('_', "-")
}
