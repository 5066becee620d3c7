//! The vertices of the largest scores, as scores change.
//!
//! Method: a pool of somewhat more vertices than are asked for, and the score that got the last of them in. What rises
//! above that enters, what falls below it leaves; only when the pool has run low are all vertices looked at again.
//! Complexity: O(log p) a change, with `p` the size of the pool; O(V) once in as many changes as the pool has to spare.
//!
//! Invariant: the pool holds every vertex whose score is at or above the floor, ties by id, and no other.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use evergraph_types::VertexId;
use hashbrown::HashMap;

/// How many times as many vertices as are asked for the pool is filled with.
const SPARE: usize = 4;

/// A vertex by its score: larger scores first, then smaller ids.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ranked {
    score: f64,
    vertex: VertexId,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.vertex.cmp(&other.vertex))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The vertices of the largest scores, for scores that change a few at a time: degrees, ranks, any other. Scores are asked
/// for by vertex id; who has none is not among them.
///
/// ```
/// use evergraph_analytics::incremental::TopK;
///
/// let mut scores = vec![3.0, 9.0, 4.0, 9.0];
/// let mut top = TopK::new(2, 4, |vertex| Some(scores[vertex as usize]));
/// assert_eq!(top.result(), [(1, 9.0), (3, 9.0)]);
/// scores[2] = 10.0;
/// top.update(4, |vertex| Some(scores[vertex as usize]), [2]);
/// assert_eq!(top.result(), [(2, 10.0), (1, 9.0)]);
/// ```
#[derive(Clone, Debug)]
pub struct TopK {
    k: usize,
    pool: BTreeSet<Ranked>,
    score_of: HashMap<VertexId, f64>,
    /// The last that the pool takes; all are taken if there is none.
    floor: Option<Ranked>,
}

impl TopK {
    /// The `k` largest of the scores of the vertex ids below `bound`.
    pub fn new(k: usize, bound: VertexId, score: impl Fn(VertexId) -> Option<f64>) -> Self {
        let mut top = TopK { k, pool: BTreeSet::new(), score_of: HashMap::new(), floor: None };
        top.fill(bound, score);
        top
    }

    /// How many are followed, so that some may go.
    fn spared(&self) -> usize {
        self.k.max(16).saturating_mul(SPARE)
    }

    /// How many are asked for.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Follows the scores of these vertices to what they are now; `score` tells those of all vertex ids below `bound`.
    pub fn update(
        &mut self,
        bound: VertexId,
        score: impl Fn(VertexId) -> Option<f64>,
        changed: impl IntoIterator<Item = VertexId>,
    ) {
        for vertex in changed {
            if let Some(score) = self.score_of.remove(&vertex) {
                self.pool.remove(&Ranked { score, vertex });
            }
            if let Some(score) = Some(vertex).filter(|&vertex| vertex < bound).and_then(&score) {
                let ranked = Ranked { score, vertex };
                if self.floor.is_none_or(|floor| ranked <= floor) {
                    self.pool.insert(ranked);
                    self.score_of.insert(vertex, score);
                }
            }
        }
        let too_few = self.pool.len() < self.k && self.floor.is_some();
        if too_few || self.pool.len() / 2 > self.spared() {
            self.fill(bound, score);
        }
    }

    /// The vertices of the largest scores, the largest first, ties by id; fewer than `k` if there are not so many.
    pub fn result(&self) -> Vec<(VertexId, f64)> {
        self.pool.iter().take(self.k).map(|ranked| (ranked.vertex, ranked.score)).collect()
    }

    fn fill(&mut self, bound: VertexId, score: impl Fn(VertexId) -> Option<f64>) {
        let wanted = self.spared();
        let ranked = |vertex| score(vertex).map(|score| Ranked { score, vertex });
        let mut all: Vec<Ranked> = (0..bound).filter_map(ranked).collect();
        self.floor = None;
        if all.len() > wanted {
            let (_, &mut last, _) = all.select_nth_unstable(wanted - 1);
            self.floor = Some(last);
            all.truncate(wanted);
        }
        self.score_of = all.iter().map(|ranked| (ranked.vertex, ranked.score)).collect();
        self.pool = all.into_iter().collect();
    }
}
