//! `evergraph generate`: seeded random graphs, streamed to a file or a pipe.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand, ValueEnum};
use evergraph::generate::{ErdosRenyi, Format, Generator, Kronecker, Model, write};
use evergraph::load::{Format as LoadFormat, NamedFormat};
use serde::Serialize;

use crate::console::{Console, notice, output_is_terminal};
use crate::error::CommandError;
use crate::output_file::{OutputFile, named};
use crate::progress::Activity;
use crate::units;

/// The model, its parameters, and where the edges go.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    model: ModelArgs,
}

const EXAMPLES: &str = "\
Examples:
  evergraph generate kronecker --scale 20 --out graph.txt       the Graph500 graph, 2^20 vertices
  evergraph generate rmat --scale 16 --a 0.45 --b 0.2 --c 0.2 --out rmat.csv.gz
  evergraph generate erdos-renyi --vertices 1000 --edges 5000 --seed 7 | head
  evergraph generate kronecker --scale 24 --out graph.bin       pairs of 32-bit numbers

The same model, parameters and seed give the same edges on every machine. Edges are drawn one by
one: self loops and repeated edges occur, and vertices without edges do not appear.";

#[derive(Debug, Subcommand)]
enum ModelArgs {
    /// The graph of the Graph500 benchmark: few vertices with most edges, numbers shuffled
    #[command(after_help = "Example:\n  evergraph generate kronecker --scale 20 --out graph.txt")]
    Kronecker {
        #[command(flatten)]
        size: Size,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// A recursive matrix graph with your own quadrant probabilities; low numbers are hubs
    #[command(
        after_help = "Example:\n  evergraph generate rmat --scale 16 --a 0.45 --b 0.2 --c 0.2 --out rmat.csv"
    )]
    Rmat {
        #[command(flatten)]
        size: Size,
        /// The probability of the top left quadrant
        #[arg(long, value_name = "P", default_value_t = 0.57)]
        a: f64,
        /// The probability of the top right quadrant
        #[arg(long, value_name = "P", default_value_t = 0.19)]
        b: f64,
        /// The probability of the bottom left quadrant; the fourth has what is left of 1
        #[arg(long, value_name = "P", default_value_t = 0.19)]
        c: f64,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Uniform random pairs
    #[command(
        after_help = "Example:\n  evergraph generate erdos-renyi --vertices 1000 --edges 5000 --out random.txt"
    )]
    ErdosRenyi {
        #[command(flatten)]
        size: Size,
        /// The number of vertices, instead of a power of two
        #[arg(long, value_name = "N", conflicts_with = "scale")]
        vertices: Option<u64>,
        /// The number of edges, instead of so many per vertex
        #[arg(long, value_name = "M", conflicts_with = "edges_per_vertex")]
        edges: Option<u64>,
        #[command(flatten)]
        output: OutputArgs,
    },
}

#[derive(Debug, Args)]
struct Size {
    /// There are 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 16)]
    scale: u32,
    /// There are so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 16)]
    edges_per_vertex: u64,
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// What the random numbers start from
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The file to write, compressed if it ends in .gz or .zst [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How edges are written [default: by the name of the file]
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    /// Lines of two numbers with a blank between
    Edgelist,
    /// Lines of two numbers with a comma between, below the header src,dst
    Csv,
    /// Pairs of 32-bit numbers, least significant byte first, without a header
    Binary,
}

#[derive(Serialize)]
struct Report<'a> {
    out: Option<&'a Path>,
    vertices: u64,
    edges: u64,
    seed: u64,
    seconds: f64,
}

/// Runs the command.
pub(crate) fn run(args: &GenerateArgs, console: &mut Console) -> Result<(), CommandError> {
    let (model, output) = args.model.parts()?;
    let generator = Generator::new(model, output.seed)?;
    let format = output.format()?;
    let mut file = match &output.out {
        Some(path) => OutputFile::create(path, output.force)?,
        None if console.is_json() => {
            return Err(usage("--json reports on a file: name it with --out"));
        }
        None if format == Format::Pairs32 && output_is_terminal() => {
            return Err(usage("binary pairs are nothing for a terminal: name a file with --out"));
        }
        None => OutputFile::standard_output(),
    };
    let start = Instant::now();
    let activity = Activity::of_steps("generating", generator.num_edges());
    let named = named(output.out.as_deref().unwrap_or(Path::new("-")));
    let written = write(&generator, format, &mut file, &|edges| {
        activity.set(edges);
        ControlFlow::Continue(())
    });
    written.map_err(|error| named(error.into()))?;
    file.finish().map_err(named)?;
    drop(activity);
    let report = Report {
        out: output.out.as_deref(),
        vertices: generator.num_vertices(),
        edges: generator.num_edges(),
        seed: output.seed,
        seconds: start.elapsed().as_secs_f64(),
    };
    match report.out {
        // The edges are the output.
        None => Ok(()),
        Some(_) if console.is_json() => console.json(&report),
        Some(path) => {
            notice(format_args!(
                "{} among {} in {}, {}",
                units::counted(report.edges, "edge", "edges"),
                units::counted(report.vertices, "vertex", "vertices"),
                path.display(),
                units::seconds(report.seconds)
            ));
            Ok(())
        }
    }
}

impl ModelArgs {
    fn parts(&self) -> Result<(Model, &OutputArgs), CommandError> {
        Ok(match self {
            ModelArgs::Kronecker { size, output } => {
                (Model::Kronecker(Kronecker::graph500(size.scale, size.edges_per_vertex)), output)
            }
            ModelArgs::Rmat { size, a, b, c, output } => {
                (Model::Kronecker(Kronecker::rmat(size.scale, size.edges_per_vertex, [*a, *b, *c])), output)
            }
            ModelArgs::ErdosRenyi { size, vertices, edges, output } => {
                let too_many = || usage("so many vertices or edges cannot be counted: use fewer");
                let vertices = match vertices {
                    Some(vertices) => *vertices,
                    None => 1u64.checked_shl(size.scale).ok_or_else(too_many)?,
                };
                let edges = match edges {
                    Some(edges) => *edges,
                    None => vertices.checked_mul(size.edges_per_vertex).ok_or_else(too_many)?,
                };
                (Model::ErdosRenyi(ErdosRenyi { vertices, edges }), output)
            }
        })
    }
}

impl OutputArgs {
    fn format(&self) -> Result<Format, CommandError> {
        Ok(match self.format.map_or_else(|| self.format_by_name(), Ok)? {
            FormatArg::Edgelist => Format::EdgeList,
            FormatArg::Csv => Format::Csv { header: true },
            FormatArg::Binary => Format::Pairs32,
        })
    }

    fn format_by_name(&self) -> Result<FormatArg, CommandError> {
        let Some(path) = &self.out else { return Ok(FormatArg::Edgelist) };
        match NamedFormat::of(path) {
            NamedFormat::Edges(LoadFormat::Csv) => Ok(FormatArg::Csv),
            NamedFormat::Foreign(what) => Err(usage(&format!(
                "{}: {what} is not written here: name a file that ends in .txt, .csv or .bin, or say --format",
                path.display()
            ))),
            _ if path.extension().is_some_and(|extension| extension == "bin") => Ok(FormatArg::Binary),
            _ => Ok(FormatArg::Edgelist),
        }
    }
}

fn usage(message: &str) -> CommandError {
    CommandError::Usage(message.to_owned())
}
