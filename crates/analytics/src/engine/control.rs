//! How a caller watches and stops a running algorithm, and how an algorithm says that it could not finish.
//!
//! ```text
//!  worker threads                          Control                        whoever waits for the result
//!  check()? at every range of work  ◄──  cancelled: bool  ◄──────────  cancel()   (Ctrl-C, a closed connection)
//!  progress(done, total) per round  ──►  done, total: u64  ──────────►  status()   (a progress bar, a few times a second)
//! ```
//!
//! Invariant: the algorithm only reads `cancelled` and only writes the counts, so that nothing a caller does (a Python
//! callback, a slow terminal) ever runs on a worker thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use evergraph_types::VertexId;
use evergraph_view::{GraphView, NoRoom, Snapshot};
use thiserror::Error;

/// No vertex: in results that name a vertex, where there is none to name. Never an id.
pub const NO_VERTEX: VertexId = VertexId::MAX;

/// Why an algorithm gave no result. It names vertices by their ids; [`AlgorithmError::with_keys`] has their keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AlgorithmError {
    /// [`Control::cancel`] was called.
    Cancelled,
    /// A vertex to start from is not in the view.
    SourceNotFound {
        /// Its id.
        vertex: VertexId,
    },
    /// An argument that makes no sense.
    InvalidArgument {
        /// The argument as users know it.
        name: String,
        /// What is wrong with it, and what is allowed.
        why: String,
    },
    /// An argument that names a property which the view does not have, or which is no number.
    UnfitProperty {
        /// The argument as users know it.
        name: String,
        /// What is wrong with the property, and what there is.
        why: String,
    },
    /// An argument that gives a number for each vertex, and one that makes no sense.
    InvalidNumber {
        /// The argument as users know it.
        name: String,
        /// The vertex whose number it is.
        vertex: VertexId,
        /// What is wrong with it.
        why: String,
    },
    /// A weight that is negative, and the algorithm is for weights from 0.
    NegativeWeight {
        /// The edge's source.
        src: VertexId,
        /// The edge's destination.
        dst: VertexId,
    },
    /// A weight of 0, and the algorithm is for weights above it.
    ZeroWeight {
        /// The edge's source.
        src: VertexId,
        /// The edge's destination.
        dst: VertexId,
    },
    /// A cycle along which weights add up to less than 0: paths through it have no least length.
    NegativeCycle {
        /// A vertex of the cycle.
        vertex: VertexId,
    },
    /// A weight that is infinite or not a number.
    NotFinite {
        /// The edge's source.
        src: VertexId,
        /// The edge's destination.
        dst: VertexId,
    },
    /// A cycle where there must be none.
    Cyclic {
        /// A vertex of the cycle.
        vertex: VertexId,
    },
    /// No path, where one was asked for.
    NoPath {
        /// Where it would begin.
        from: VertexId,
        /// Where it would end.
        to: VertexId,
    },
    /// Two vertices that must be in one independent set, and are neighbors.
    NotIndependent {
        /// One of them.
        node: VertexId,
        /// The other.
        other: VertexId,
    },
    /// The view has ids so large that arrays for them do not fit in memory.
    NoRoom(NoRoom),
    /// The slow verifier was asked for and did not agree with the result: a bug.
    WrongResult(VerifyError),
}

impl AlgorithmError {
    /// The message with the keys that the vertices have in the snapshot that the algorithm ran on: users know no ids.
    pub fn with_keys(&self, snapshot: &Snapshot) -> String {
        self.message(&|vertex| match vertex < snapshot.id_bound() {
            true => snapshot.key(vertex).to_string(),
            false => vertex.to_string(),
        })
    }

    /// The message, vertices named as `name` says.
    fn message(&self, name: &dyn Fn(VertexId) -> String) -> String {
        use AlgorithmError as Error;
        match self {
            Error::Cancelled => "the algorithm was cancelled before it finished".to_owned(),
            Error::NoRoom(no_room) => no_room.to_string(),
            Error::SourceNotFound { vertex } => {
                format!(
                    "source vertex {} is not in this view; start from a vertex that it has",
                    name(*vertex)
                )
            }
            Error::InvalidArgument { name, why } | Error::UnfitProperty { name, why } => {
                format!("argument {name}: {why}")
            }
            Error::InvalidNumber { name: argument, vertex, why } => {
                format!("argument {argument}: {why}, at vertex {}", name(*vertex))
            }
            Error::NegativeWeight { src, dst } => format!(
                "the edge from vertex {} to {} has a negative weight; this algorithm needs weights from 0",
                name(*src),
                name(*dst)
            ),
            Error::ZeroWeight { src, dst } => format!(
                "the edge from vertex {} to {} has weight 0; this algorithm needs weights above 0",
                name(*src),
                name(*dst)
            ),
            Error::NegativeCycle { vertex } => format!(
                "vertex {} is on a cycle of negative weight, so that some paths have no least length",
                name(*vertex)
            ),
            Error::NotFinite { src, dst } => format!(
                "the weight of the edge from vertex {} to {} is not a finite number",
                name(*src),
                name(*dst)
            ),
            Error::Cyclic { vertex } => {
                format!(
                    "vertex {} is on a cycle, and only a graph without cycles has an order",
                    name(*vertex)
                )
            }
            Error::NoPath { from, to } => format!("there is no path from {} to {}", name(*from), name(*to)),
            Error::NotIndependent { node, other } => format!(
                "argument nodes: vertices {} and {} are neighbors, and no two of an independent set are",
                name(*node),
                name(*other)
            ),
            Error::WrongResult(wrong) => wrong.to_string(),
        }
    }
}

impl fmt::Display for AlgorithmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&|vertex| vertex.to_string()))
    }
}

impl From<VerifyError> for AlgorithmError {
    fn from(wrong: VerifyError) -> Self {
        AlgorithmError::WrongResult(wrong)
    }
}

/// How far an algorithm is, in units of its own (vertices reached, iterations).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Units done.
    pub done: u64,
    /// Units there are; an upper bound where the algorithm may end early. 0 before the first report, and where nothing
    /// tells how many there are.
    pub total: u64,
}

/// A hand on a running algorithm: shared between the thread that runs it and the one that waits.
///
/// ```
/// use evergraph_analytics::{AlgorithmError, Control};
///
/// let control = Control::new();
/// assert!(control.check().is_ok());
/// control.progress(3, 10);
/// assert_eq!((control.status().done, control.status().total), (3, 10));
/// control.cancel();
/// assert_eq!(control.check(), Err(AlgorithmError::Cancelled));
/// ```
#[derive(Debug, Default)]
pub struct Control {
    cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Control {
    /// Nothing cancelled, nothing done.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the algorithm to stop. It returns [`AlgorithmError::Cancelled`] within a few milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Called by algorithms between pieces of work: an error once the caller has cancelled.
    #[inline]
    pub fn check(&self) -> Result<(), AlgorithmError> {
        if self.cancelled.load(Relaxed) { Err(AlgorithmError::Cancelled) } else { Ok(()) }
    }

    /// Called by algorithms once a round: `done` of at most `total` units are finished, 0 if no bound says much.
    pub fn progress(&self, done: u64, total: u64) {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// For an algorithm that is a part of another: cancelled with it, and tells nobody how far it is.
    pub(crate) fn of_part(&self) -> Self {
        Control { cancelled: self.cancelled.clone(), ..Self::default() }
    }

    /// The last progress reported.
    pub fn status(&self) -> Progress {
        Progress { done: self.done.load(Relaxed), total: self.total.load(Relaxed) }
    }
}

/// A result that its slow verifier did not agree with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the verifier found a wrong result, which is a bug worth reporting: {what}")]
pub struct VerifyError {
    /// What was expected and what was found, and at which vertex.
    pub what: String,
}

/// `Err` with the message, unless `holds`.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), AlgorithmError> {
    if holds { Ok(()) } else { Err(VerifyError { what: what() }.into()) }
}

/// An error that names the first of `sources` that is not in the view.
pub(crate) fn require_sources(view: &dyn GraphView, sources: &[VertexId]) -> Result<(), AlgorithmError> {
    match sources.iter().find(|&&vertex| !view.has_vertex(vertex)) {
        Some(&vertex) => Err(AlgorithmError::SourceNotFound { vertex }),
        None => Ok(()),
    }
}
