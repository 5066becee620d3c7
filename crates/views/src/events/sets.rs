//! Sets of views, each kept once: what a vertex is in is one number, and vertices that are in the same views share it.
//!
//! This is the members of views turned round, so that finding the views of a vertex takes one look-up however many views
//! there are, and the memory is that of the distinct combinations.
//!
//! Invariant: set 0 is empty; equal sets have the same number.

use std::sync::Arc;

use hashbrown::HashMap;

/// The number of a set.
pub(crate) type SetId = u32;
/// A member of sets.
pub(crate) type ClassId = u32;

/// Steps and intersections that are remembered before all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// All sets in use.
#[derive(Debug)]
pub(crate) struct Sets {
    /// Members ascending.
    sets: Vec<Arc<[ClassId]>>,
    numbers: HashMap<Arc<[ClassId]>, SetId>,
    steps: HashMap<(SetId, ClassId, bool), SetId>,
    common: HashMap<(SetId, SetId), SetId>,
}

impl Default for Sets {
    fn default() -> Self {
        let empty: Arc<[ClassId]> = Arc::default();
        Sets {
            sets: vec![empty.clone()],
            numbers: [(empty, 0)].into_iter().collect(),
            steps: HashMap::new(),
            common: HashMap::new(),
        }
    }
}

impl Sets {
    pub(crate) fn members(&self, set: SetId) -> &Arc<[ClassId]> {
        &self.sets[set as usize]
    }

    /// How many distinct sets there are.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// The set with a member added or removed.
    pub(crate) fn step(&mut self, set: SetId, class: ClassId, add: bool) -> SetId {
        if let Some(&known) = self.steps.get(&(set, class, add)) {
            return known;
        }
        let mut members = self.sets[set as usize].to_vec();
        match (members.binary_search(&class), add) {
            (Err(at), true) => members.insert(at, class),
            (Ok(at), false) => drop(members.remove(at)),
            _ => {}
        }
        let number = self.number(members);
        if self.steps.len() >= REMEMBERED {
            self.steps.clear();
        }
        self.steps.insert((set, class, add), number);
        number
    }

    /// What two sets have in common.
    pub(crate) fn intersection(&mut self, left: SetId, right: SetId) -> SetId {
        if left == right || left == 0 || right == 0 {
            return if left == right { left } else { 0 };
        }
        let pair = (left.min(right), left.max(right));
        if let Some(&known) = self.common.get(&pair) {
            return known;
        }
        let other = &self.sets[pair.1 as usize];
        let members =
            self.sets[pair.0 as usize].iter().copied().filter(|class| other.binary_search(class).is_ok());
        let members = members.collect();
        let number = self.number(members);
        if self.common.len() >= REMEMBERED {
            self.common.clear();
        }
        self.common.insert(pair, number);
        number
    }

    /// The set of these members, which ascend.
    pub(crate) fn number(&mut self, members: Vec<ClassId>) -> SetId {
        let members: Arc<[ClassId]> = members.into();
        if let Some(&number) = self.numbers.get(&members) {
            return number;
        }
        let number = self.sets.len() as SetId;
        self.sets.push(members.clone());
        self.numbers.insert(members, number);
        number
    }
}
