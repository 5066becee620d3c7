//! The first act: a graph is loaded durably, and its statistics are those that were published.

use std::path::Path;

use evergraph::algorithms::{Control, connected_components, triangle_count};
use evergraph::load::NoProgress;
use evergraph::{Database, GraphView, LoadRequest, Options};
use serde::Serialize;

use super::data::{Fact, WIKI_VOTE, fact_table};
use super::story::Story;
use crate::bench::time;
use crate::error::CommandError;
use crate::units;

/// What came out.
#[derive(Serialize)]
pub(super) struct Report {
    load_seconds: f64,
    vertices: Fact,
    edges: Fact,
    largest_component: Fact,
    triangles: Fact,
}

impl Report {
    /// Whether all statistics are as published.
    pub(super) fn is_as_published(&self) -> bool {
        self.facts().iter().all(|(_, fact)| fact.holds())
    }

    fn facts(&self) -> [(&'static str, Fact); 4] {
        [
            ("vertices", self.vertices),
            ("edges", self.edges),
            ("largest weak component", self.largest_component),
            ("triangles", self.triangles),
        ]
    }
}

/// Plays it.
pub(super) fn play(story: &mut Story, directory: &Path) -> Result<Report, CommandError> {
    story.heading("1  Load a graph")?;
    story.say("wiki-Vote: who voted on whom to become an administrator of Wikipedia")?;
    let file = WIKI_VOTE.unpack(directory)?;
    let database = Database::open(directory.join("votes.eg"), Options::default())?;
    let loaded = database.load(&file, &LoadRequest::default(), &NoProgress)?;
    story.say(format_args!(
        "{} loaded in {} ({}), on disk before it was acknowledged",
        WIKI_VOTE.name,
        units::seconds(loaded.seconds),
        units::rate(loaded.edges as f64 / loaded.seconds, "edges"),
    ))?;
    let snapshot = database.snapshot()?;
    let (component_seconds, components) = time(|| connected_components(&snapshot, &Control::new()));
    let largest = components?.sizes().first().map_or(0, |&(_, size)| size);
    let (triangle_seconds, triangles) = time(|| triangle_count(&snapshot, &Control::new()));
    let report = Report {
        load_seconds: loaded.seconds,
        vertices: Fact { found: snapshot.num_vertices(), published: 7_115 },
        edges: Fact { found: snapshot.num_edges(), published: 103_689 },
        largest_component: Fact { found: largest, published: 7_066 },
        triangles: Fact { found: triangles?, published: 608_389 },
    };
    let computed =
        [component_seconds, triangle_seconds].map(|time| format!("computed in {}", units::seconds(time)));
    let [components, triangles] = &computed;
    let remarks = ["", "", components, triangles];
    let facts: Vec<_> =
        report.facts().into_iter().zip(remarks).map(|((name, fact), it)| (name, fact, it)).collect();
    story.pause()?;
    story.say(fact_table(&facts))?;
    database.close()?;
    Ok(report)
}
