//! Core numbers that follow a graph.
//!
//! Method: Sariyüce, Gedik, Jacques-Silva, Wu, Çatalyürek, "Streaming Algorithms for k-Core Decomposition", VLDB 2013. All
//! deletions at once, then the insertions one by one, which the lists of the view after show too early and are hidden
//! until it is their turn:
//!
//! ```text
//!  support[v]  neighbors whose number is that of v or larger; never below the number of v
//!  deletions   where support is short a number falls by one, which takes support from neighbors of that number
//!  insertion   of u-v, K the smaller number: only vertices of number K that u or v reach over such vertices can rise, to
//!              K + 1, and only if enough of them do (traversal algorithm, section 5.2): walk them, evict who is
//!              short, and whoever falls short then; who stays rises
//! ```
//!
//! Complexity: the edges of the vertices walked. When that comes to more than the graph has edges, the batch twin takes
//! over, so an update costs at most about twice that. It does so at each update of a view with symmetric and directed types.
//!
//! Invariant: between updates numbers are those of the view last seen, and supports fit them; parallel edges count each,
//! self-loops do not.

use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use hashbrown::HashMap;

use super::Changes;
use crate::engine::incident::{FlatIncident, directions};
use crate::engine::parallel::{in_pool, of_vertices};
use crate::{AlgorithmError, Control, CoreNumbers, core_number};

/// Core numbers that follow a graph.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalCores};
/// use evergraph_analytics::Control;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
/// let mut cores = IncrementalCores::new(&before, &Control::new())?;
/// let after = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3), (2, 0)], true);
/// cores.update(&after, &Changes::between(&before, &after, [(2, 0)], []))?;
/// assert_eq!(cores.numbers(), [2, 2, 2, 1]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalCores {
    numbers: Vec<u32>,
    support: Vec<u32>,
    walk: Walk,
}

/// The vertices that an inserted edge may raise.
#[derive(Clone, Debug, Default)]
struct Walk {
    /// Neighbors that would help a vertex rise; below 0 for one that is evicted from before it is reached.
    helpers: Vec<i64>,
    states: Vec<State>,
    /// Vertices whose helpers or state were touched.
    touched: Vec<VertexId>,
    reached: Vec<VertexId>,
    evicted: Vec<VertexId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Reached,
    Evicted,
}

/// The view after, less the insertions whose turn has not come.
struct Lists<'a> {
    flat: &'a FlatView,
    /// How many edges between two vertices are hidden; both ways round.
    hidden: HashMap<(VertexId, VertexId), u32>,
    /// How many hidden entries the lists of a vertex have.
    hidden_of: HashMap<VertexId, u32>,
    /// Entries that may be looked at before it is cheaper to begin anew.
    budget: u64,
}

/// The work comes to more than that of the batch twin.
struct TooMuch;

impl IncrementalCores {
    /// Finds the core numbers of a view, to follow it from there.
    ///
    /// # Errors
    /// [`AlgorithmError::Cancelled`].
    pub fn new(view: &dyn GraphView, control: &Control) -> Result<Self, AlgorithmError> {
        let CoreNumbers { numbers, .. } = core_number(view, control)?;
        let edges = FlatIncident::new(view);
        let support_of = |vertex: VertexId| {
            let helps =
                |&other: &VertexId| other != vertex && numbers[other as usize] >= numbers[vertex as usize];
            edges.lists(vertex).map(|list| list.iter().filter(helps).count() as u32).sum()
        };
        let support = in_pool(|| of_vertices(view.id_bound(), support_of));
        Ok(IncrementalCores { numbers, support, walk: Walk::default() })
    }

    /// Follows the changes to the view after them.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        let flat = view.flat();
        let bound = (flat.id_bound() as usize).max(self.numbers.len());
        self.numbers.resize(bound, 0);
        self.support.resize(bound, 0);
        self.walk.helpers.resize(bound, 0);
        self.walk.states.resize(bound, State::Unknown);
        let mut lists = Lists::new(&flat, &changes.inserted);
        // Changes of a mixed view do not tell one symmetric edge from two directed ones.
        let is_anew = view.is_mixed() && !changes.is_empty();
        if is_anew || self.follow(&mut lists, changes).is_err() {
            let walk = std::mem::take(&mut self.walk);
            *self = Self::new(view, &Control::new())?;
            self.walk = walk;
            self.walk.clear();
        }
        Ok(())
    }

    /// The core number of each vertex id; 0 where there is no vertex.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The result as that of [`core_number`](crate::core_number()): O(V).
    pub fn result(&self) -> CoreNumbers {
        CoreNumbers {
            numbers: self.numbers.clone(),
            largest: self.numbers.iter().copied().max().unwrap_or(0),
        }
    }

    fn follow(&mut self, lists: &mut Lists<'_>, changes: &Changes) -> Result<(), TooMuch> {
        let is_pair = |&&(src, dst): &&(VertexId, VertexId)| src != dst;
        let mut short = Vec::new();
        for &(src, dst) in changes.deleted.iter().filter(is_pair) {
            for (vertex, other) in [(src, dst), (dst, src)] {
                if self.numbers[other as usize] >= self.numbers[vertex as usize] {
                    self.support[vertex as usize] = self.support[vertex as usize].saturating_sub(1);
                    short.push(vertex);
                }
            }
        }
        self.lower(lists, short)?;
        for &(src, dst) in changes.inserted.iter().filter(is_pair) {
            lists.show(src, dst);
            self.insert(lists, src, dst)?;
        }
        Ok(())
    }

    /// Lowers the numbers of vertices that are short of support, and of those that are short then.
    fn lower(&mut self, lists: &mut Lists<'_>, mut short: Vec<VertexId>) -> Result<(), TooMuch> {
        while let Some(vertex) = short.pop() {
            while self.support[vertex as usize] < self.numbers[vertex as usize] {
                let level = self.numbers[vertex as usize];
                self.numbers[vertex as usize] = level - 1;
                let mut support = 0;
                lists.for_each(vertex, |other| {
                    let number = self.numbers[other as usize];
                    support += u32::from(number >= level - 1);
                    if number == level {
                        let left = &mut self.support[other as usize];
                        *left = left.saturating_sub(1);
                        if *left < number {
                            short.push(other);
                        }
                    }
                })?;
                self.support[vertex as usize] = support;
            }
        }
        Ok(())
    }

    fn insert(&mut self, lists: &mut Lists<'_>, src: VertexId, dst: VertexId) -> Result<(), TooMuch> {
        let (src_number, dst_number) = (self.numbers[src as usize], self.numbers[dst as usize]);
        self.support[src as usize] += u32::from(dst_number >= src_number);
        self.support[dst as usize] += u32::from(src_number >= dst_number);
        let level = src_number.min(dst_number);
        // If both ends have this number, both must rise for either to.
        let can_rise =
            |vertex: VertexId| self.numbers[vertex as usize] > level || self.support[vertex as usize] > level;
        if !can_rise(src) || !can_rise(dst) {
            return Ok(());
        }
        let start = if src_number <= dst_number { src } else { dst };
        let walked = self.walk_from(lists, start, level);
        let risen = walked.and_then(|()| self.raise(lists, level));
        self.walk.clear();
        risen
    }

    /// Neighbors that are above the level, or on it and may rise.
    fn helpers_of(&self, lists: &mut Lists<'_>, vertex: VertexId, level: u32) -> Result<i64, TooMuch> {
        let mut helpers = 0;
        lists.for_each(vertex, |other| {
            let number = self.numbers[other as usize];
            helpers += i64::from(number > level || number == level && self.support[other as usize] > level);
        })?;
        Ok(helpers)
    }

    fn walk_from(&mut self, lists: &mut Lists<'_>, start: VertexId, level: u32) -> Result<(), TooMuch> {
        let mut waiting = vec![start];
        self.walk.reach(start, self.helpers_of(lists, start, level)?);
        let mut found = Vec::new();
        while let Some(vertex) = waiting.pop() {
            if self.walk.helpers[vertex as usize] <= i64::from(level) {
                self.evict(lists, vertex, level)?;
                continue;
            }
            lists.for_each(vertex, |other| {
                let may_rise = self.numbers[other as usize] == level && self.support[other as usize] > level;
                if may_rise && self.walk.states[other as usize] == State::Unknown {
                    self.walk.states[other as usize] = State::Reached;
                    self.walk.touched.push(other);
                    found.push(other);
                }
            })?;
            for other in found.drain(..) {
                let helpers = self.helpers_of(lists, other, level)?;
                self.walk.reach(other, helpers);
                waiting.push(other);
            }
        }
        Ok(())
    }

    /// Evicts a vertex, which takes a helper from its neighbors, and those that are short then.
    fn evict(&mut self, lists: &mut Lists<'_>, vertex: VertexId, level: u32) -> Result<(), TooMuch> {
        let Walk { helpers, states, touched, evicted, .. } = &mut self.walk;
        if states[vertex as usize] == State::Evicted {
            return Ok(());
        }
        states[vertex as usize] = State::Evicted;
        evicted.push(vertex);
        while let Some(vertex) = evicted.pop() {
            lists.for_each(vertex, |other| {
                if self.numbers[other as usize] == level {
                    touched.push(other);
                    helpers[other as usize] -= 1;
                    if helpers[other as usize] == i64::from(level) && states[other as usize] == State::Reached
                    {
                        states[other as usize] = State::Evicted;
                        evicted.push(other);
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Raises who was reached and not evicted.
    fn raise(&mut self, lists: &mut Lists<'_>, level: u32) -> Result<(), TooMuch> {
        let Walk { reached, states, .. } = &mut self.walk;
        reached.retain(|&vertex| states[vertex as usize] == State::Reached);
        reached.iter().for_each(|&vertex| self.numbers[vertex as usize] = level + 1);
        for &vertex in &*reached {
            let mut support = 0;
            lists.for_each(vertex, |other| {
                let number = self.numbers[other as usize];
                support += u32::from(number > level);
                if number == level + 1 && states[other as usize] != State::Reached {
                    self.support[other as usize] += 1;
                }
            })?;
            self.support[vertex as usize] = support;
        }
        Ok(())
    }
}

impl Walk {
    fn reach(&mut self, vertex: VertexId, helpers: i64) {
        self.states[vertex as usize] = State::Reached;
        self.helpers[vertex as usize] += helpers;
        self.touched.push(vertex);
        self.reached.push(vertex);
    }

    fn clear(&mut self) {
        self.evicted.clear();
        self.reached.clear();
        for vertex in self.touched.drain(..) {
            self.helpers[vertex as usize] = 0;
            self.states[vertex as usize] = State::Unknown;
        }
    }
}

impl<'a> Lists<'a> {
    fn new(flat: &'a FlatView, hidden_edges: &[(VertexId, VertexId)]) -> Self {
        let (mut hidden, mut hidden_of) = (HashMap::new(), HashMap::new());
        for &(src, dst) in hidden_edges.iter().filter(|(src, dst)| src != dst) {
            for (vertex, other) in [(src, dst), (dst, src)] {
                *hidden.entry((vertex, other)).or_insert(0) += 1;
                *hidden_of.entry(vertex).or_insert(0) += 1;
            }
        }
        let budget = 2 * flat.num_entries() + 1024;
        Lists { flat, hidden, hidden_of, budget }
    }

    /// The turn of an insertion has come.
    fn show(&mut self, src: VertexId, dst: VertexId) {
        for (vertex, other) in [(src, dst), (dst, src)] {
            if let Some(count) = self.hidden.get_mut(&(vertex, other)) {
                *count = count.saturating_sub(1);
            }
            if let Some(count) = self.hidden_of.get_mut(&vertex) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Calls `visit` with the neighbors of a vertex that are not hidden, in either direction.
    fn for_each(&mut self, vertex: VertexId, mut visit: impl FnMut(VertexId)) -> Result<(), TooMuch> {
        let hides = self.hidden_of.get(&vertex).is_some_and(|&count| count > 0);
        // How often a neighbor was left out; only parallel edges need it, one of which is hidden and one is not.
        let mut left_out: HashMap<VertexId, u32> = HashMap::new();
        for &direction in directions(self.flat) {
            let list = self.flat.neighbors(direction, vertex);
            self.budget = self.budget.checked_sub(list.len() as u64 + 1).ok_or(TooMuch)?;
            list.for_each_slice(|slice| {
                for &other in slice.iter().filter(|&&other| other != vertex) {
                    if hides
                        && let Some(&count) = self.hidden.get(&(vertex, other))
                        && count > 0
                    {
                        let left_out = left_out.entry(other).or_insert(0);
                        if *left_out < count {
                            *left_out += 1;
                            continue;
                        }
                    }
                    visit(other);
                }
            });
        }
        Ok(())
    }
}
