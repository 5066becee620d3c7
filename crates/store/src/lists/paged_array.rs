//! The persistent paged array: LAMA's multi-versioned array (LLAMA, ICDE 2015, section IV) under vertex tables,
//! vertex records and vertex property columns.
//!
//! ```text
//!  root ─► inner (128 children) ─► inner ─► leaf: occupied: u64 | dirty: u64 | changed: u64 | touched: u64 | pack | 64 cells
//! ```
//!
//! An edit copies the leaves it changes and the inner pages above them, unless nobody else reaches them, and leaves all else
//! shared with the version before. Bit `i` of `occupied` says that cell `i` holds a value; of `dirty`, that it changed since it was last
//! archived, which is also how a value that went away is remembered until then; of `touched`, that one of the last commits that
//! `changed` the leaf changed it, which archiving does not, so that versions are compared by what changed between them.
//!
//! Invariant: pages reachable from an array that anybody else has never change. An array is held only by a version (or by the
//! draft of the next one), which keeps its pages alive.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::lists::heap::{Block, Changes};
use crate::lists::leaf_edit::Room;
use crate::system::parallel::parallel_map;
use crate::system::pool::in_pool;
use crate::system::prefetch::prefetch;

/// Cells of one leaf page.
pub(crate) const LEAF_CELLS: u32 = 64;
const LEAF_BITS: u32 = 6;
const INNER_BITS: u32 = 7;
const FANOUT: usize = 1 << INNER_BITS;

/// When a leaf has noted more cells as touched, its next commit forgets them, so that few are noted.
const TOUCHED_MAX: u32 = LEAF_CELLS / 2;

/// Edits of fewer items are made by the thread that has them: handing them over would take longer.
const PARALLEL_ITEMS: usize = 1 << 10;
/// A task edits at least so many items, if the page has them.
const ITEMS_PER_TASK: usize = 1 << 9;
/// So many items are asked for together: enough that the processor waits for all of them at once, few enough that they stay near.
const ITEMS_AHEAD: usize = 1 << 5;

/// A cell of a leaf.
///
/// # Safety
/// All zero bytes are a valid value.
pub(crate) unsafe trait Cell: Copy + Send + Sync {
    /// Whether it may be the value of all zeros.
    fn is_zero(&self) -> bool;
}

// SAFETY: an integer may be zero.
unsafe impl Cell for u16 {
    fn is_zero(&self) -> bool {
        *self == 0
    }
}

// SAFETY: an integer may be zero.
unsafe impl Cell for u64 {
    fn is_zero(&self) -> bool {
        *self == 0
    }
}

// SAFETY: the empty entry is all zeros.
unsafe impl Cell for crate::lists::entry::Entry {
    fn is_zero(&self) -> bool {
        self.is_empty()
    }
}

/// The page that holds 64 neighboring cells; those without a value are zero.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Leaf<T> {
    pub(crate) occupied: u64,
    pub(crate) dirty: u64,
    /// No commit after this one has changed what the cells say; archiving moves what they point to, and says the same.
    pub(crate) changed: u64,
    /// The cells that commits after `changed - span` have changed.
    pub(crate) touched: u64,
    /// A block that cells point into, which belongs to the leaf: see [`leaf_edit`](crate::lists::leaf_edit).
    pub(crate) pack: Option<Block>,
    /// How many neighbors the pack holds, dead ones included.
    pub(crate) pack_len: u32,
    /// What [`leaf_edit`](crate::lists::leaf_edit) has counted in the cells, unless they were set since.
    pub(crate) room: Room,
    /// How many commits `touched` looks back.
    pub(crate) span: u32,
    pub(crate) cells: [T; LEAF_CELLS as usize],
}

impl<T: Cell> Leaf<T> {
    /// The value of the cell of `index`, if it has one.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<T> {
        let slot = index % LEAF_CELLS;
        // Only a value of zeros needs a look at the other line of memory that tells whether there is one.
        let cell = self.cells[slot as usize];
        (!cell.is_zero() || self.occupied >> slot & 1 == 1).then_some(cell)
    }

    /// The cells that may have changed what they say since a commit, as bits.
    pub(crate) fn changed_since(&self, sequence: u64) -> u64 {
        match self.changed.checked_sub(sequence) {
            None | Some(0) => 0,
            Some(commits) if commits <= u64::from(self.span) => self.touched,
            Some(_) => u64::MAX,
        }
    }

    /// Notes that a commit changes these cells.
    fn note_change(&mut self, sequence: u64, cells: u64) {
        let commits = sequence.saturating_sub(self.changed);
        if commits > 0 && self.touched.count_ones() > TOUCHED_MAX {
            (self.touched, self.span) = (0, 0);
        }
        // What is looked back on is cut short rather than told wrong.
        self.span = u32::try_from(u64::from(self.span) + commits).unwrap_or(u32::MAX);
        self.touched |= cells;
        self.changed = sequence;
    }

    /// Sets the cell of `index` and marks it dirty; `None` empties it.
    pub(crate) fn set(&mut self, index: u32, value: Option<T>) {
        self.set_clean(index, value);
        self.dirty |= 1 << (index % LEAF_CELLS);
    }

    /// Sets the cell of `index` to what the newest segment holds of it.
    pub(crate) fn set_clean(&mut self, index: u32, value: Option<T>) {
        let slot = index % LEAF_CELLS;
        self.dirty &= !(1 << slot);
        self.room = Room::UNKNOWN;
        match value {
            Some(value) => {
                self.occupied |= 1 << slot;
                self.cells[slot as usize] = value;
            }
            None => {
                self.occupied &= !(1 << slot);
                // SAFETY: all zeros are a value of every cell.
                self.cells[slot as usize] = unsafe { std::mem::zeroed() };
            }
        }
    }
}

type Inner = [Option<Block>; FANOUT];

const _: () = assert!(size_of::<Inner>() == 8 * FANOUT);

/// A persistent array of optional cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PagedArray<T> {
    root: Option<Block>,
    height: u32,
    marker: PhantomData<T>,
}

impl<T> Default for PagedArray<T> {
    fn default() -> Self {
        PagedArray { root: None, height: 0, marker: PhantomData }
    }
}

impl<T: Cell> PagedArray<T> {
    /// The leaf that holds `index`, if anything was ever set near it.
    #[inline]
    pub(crate) fn leaf(&self, index: u32) -> Option<&Leaf<T>> {
        // SAFETY: pages at height 0 are leaves and alive with the version that holds the array.
        self.leaf_page(index).map(|page| unsafe { &*page.pointer().cast::<Leaf<T>>() })
    }

    #[inline]
    fn leaf_page(&self, index: u32) -> Option<Block> {
        if u64::from(index) >= capacity(self.height) {
            return None;
        }
        let mut page = self.root?;
        for height in (1..=self.height).rev() {
            // SAFETY: pages above height 0 are inner pages and alive with the version that holds the array.
            page = unsafe { &*page.pointer().cast::<Inner>() }[child_of(index, height)]?;
        }
        Some(page)
    }

    /// Whether nothing was ever set.
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// The value at `index`.
    pub(crate) fn get(&self, index: u32) -> Option<T> {
        self.leaf(index)?.get(index)
    }

    /// What lies in the cell of `index`, zeros if it holds no value: for those whose zeros mean that as well. It reads
    /// one line of memory of the leaf, not two.
    #[inline]
    pub(crate) fn cell(&self, index: u32) -> Option<T> {
        self.leaf(index).map(|leaf| leaf.cells[(index % LEAF_CELLS) as usize])
    }

    /// Asks the processor for the leaves of these items.
    pub(crate) fn prefetch_leaves<I>(&self, items: &[I], index_of: &impl Fn(&I) -> u32) {
        for group in items.chunk_by(|left, right| index_of(left) / LEAF_CELLS == index_of(right) / LEAF_CELLS)
        {
            let leaf = self.leaf_page(index_of(&group[0]));
            leaf.into_iter().for_each(|leaf| prefetch(leaf.pointer(), size_of::<Leaf<T>>()));
        }
    }

    /// Calls `visit` with each leaf and the index of its first cell, ascending.
    pub(crate) fn for_each_leaf<'a>(&'a self, visit: &mut dyn FnMut(u32, &'a Leaf<T>)) {
        if let Some(root) = self.root {
            walk(root, self.height, 0, &mut |page, height, base| {
                if height == 0 {
                    // SAFETY: pages at height 0 are leaves and alive with the version that holds the array.
                    visit(base, unsafe { &*page.pointer().cast::<Leaf<T>>() });
                }
            });
        }
    }

    /// Calls `visit` with each pair of leaves at one place, with the index of its first cell, ascending; those that both
    /// arrays share are left out.
    pub(crate) fn zip_leaves<'a>(
        &'a self,
        other: &'a Self,
        visit: &mut dyn FnMut(u32, Option<&'a Leaf<T>>, Option<&'a Leaf<T>>),
    ) {
        // SAFETY: pages at height 0 are leaves and alive with the version that holds the array.
        let leaf = |page: Block| unsafe { &*page.pointer().cast::<Leaf<T>>() };
        let mut pair = |base, height, left: Option<Block>, right: Option<Block>| {
            if height == 0 {
                visit(base, left.map(leaf), right.map(leaf));
            }
        };
        zip((self.root, self.height), (other.root, other.height), 0, &mut pair);
    }

    /// Calls `visit` with every page that `older` does not share, and with the leaf that it is, if it is one.
    pub(crate) fn for_each_page_since<'a>(
        &'a self,
        older: &Self,
        visit: &mut dyn FnMut(Block, Option<&'a Leaf<T>>),
    ) {
        let mut pair = |_, height, page: Option<Block>, _: Option<Block>| {
            let Some(page) = page else { return };
            // SAFETY: pages at height 0 are leaves and alive with the version that holds the array.
            visit(page, (height == 0).then(|| unsafe { &*page.pointer().cast::<Leaf<T>>() }));
        };
        zip((self.root, self.height), (older.root, older.height), 0, &mut pair);
    }

    /// Calls `visit` with every page.
    pub(crate) fn for_each_page(&self, visit: &mut dyn FnMut(Block)) {
        if let Some(root) = self.root {
            walk(root, self.height, 0, &mut |page, _, _| visit(page));
        }
    }

    /// Has the leaves that `older` does not share say that a commit so many later is the last to have changed them.
    ///
    /// # Safety
    /// Nobody else reaches these leaves.
    pub(crate) unsafe fn postpone_changes(&mut self, older: &Self, commits: u64) {
        let mut pair = |_, height, page: Option<Block>, _: Option<Block>| {
            if let Some(page) = page.filter(|_| height == 0) {
                // SAFETY: pages at height 0 are leaves, alive with their draft, and nobody else's by contract.
                unsafe { (*page.pointer().cast::<Leaf<T>>()).changed += commits };
            }
        };
        zip((self.root, self.height), (older.root, older.height), 0, &mut pair);
    }

    /// Bytes of all pages, counted without looking at the leaves.
    pub(crate) fn page_bytes(&self) -> usize {
        let mut bytes = 0;
        if let Some(root) = self.root {
            // SAFETY: inner pages are alive with the version that holds the array, and so are their leaves.
            unsafe { add_page_bytes::<T>(root, self.height, &mut bytes) };
        }
        bytes
    }

    /// The array after an edit: `items` ascend by `index_of`, and `apply` is called once for each leaf they touch,
    /// with the index of its first cell, its private copy and its items. What other cells of the leaf say, it leaves as it is.
    /// Large edits run in parallel.
    pub(crate) fn edit<I: Sync>(
        &self,
        items: &[I],
        index_of: &(impl Fn(&I) -> u32 + Sync),
        apply: &(impl Fn(u32, &mut Leaf<T>, &[I], &mut Changes) + Sync),
        changes: &mut Changes,
    ) -> Self {
        self.edit_asked(items, index_of, &|items| self.prefetch_leaves(items, index_of), apply, changes)
    }

    /// As [`edit`](Self::edit), with a way to `ask` the processor for what editing some items will read. Not asked where pages
    /// are written to where they lie.
    pub(crate) fn edit_asked<I: Sync>(
        &self,
        items: &[I],
        index_of: &(impl Fn(&I) -> u32 + Sync),
        ask: &(impl Fn(&[I]) + Sync),
        apply: &(impl Fn(u32, &mut Leaf<T>, &[I], &mut Changes) + Sync),
        changes: &mut Changes,
    ) -> Self {
        let Some(last) = items.last() else { return *self };
        let mut array = self.grown_to(index_of(last), changes);
        let editor = Editor { index_of, ask, apply, marker: PhantomData };
        let mut ahead = Ahead::of(items);
        let mut edit = || editor.page(array.root, array.height, 0, items, &mut ahead, changes);
        array.root = Some(if items.len() < PARALLEL_ITEMS { edit() } else { in_pool(edit) });
        array
    }

    /// A copy of the leaf at `index`, or one of zeros, in which the edit that `changes` tells of changes what these cells say. It is
    /// for [`with_leaves`](Self::with_leaves).
    ///
    /// # Safety
    /// The draft that it belongs to outlives `'a`.
    pub(crate) unsafe fn own_leaf<'a>(
        &self,
        index: u32,
        cells: u64,
        changes: &mut Changes,
    ) -> (Block, &'a mut Leaf<T>) {
        // SAFETY: pages at height 0 are leaves, alive with the version that is being edited.
        unsafe { own_leaf(self.leaf_page(index), cells, changes) }
    }

    /// The array with these leaves of an edit at these indexes, which ascend.
    pub(crate) fn with_leaves(&self, leaves: &[(u32, Block)], changes: &mut Changes) -> Self {
        let Some((last, _)) = leaves.last() else { return *self };
        let mut array = self.grown_to(*last, changes);
        array.root = Some(page_with(array.root, array.height, leaves, changes));
        array
    }

    /// The array with room for `index`.
    fn grown_to(mut self, index: u32, changes: &mut Changes) -> Self {
        while u64::from(index) >= capacity(self.height) {
            if let Some(child) = self.root {
                // SAFETY: a new inner page.
                let (page, inner) = unsafe { own_page::<Inner>(None, changes) };
                inner[0] = Some(child);
                self.root = Some(page);
            }
            self.height += 1;
        }
        self
    }
}

/// The page in place of `old` that has these leaves below it; recursion ends at them, at most four levels down.
fn page_with(old: Option<Block>, height: u32, leaves: &[(u32, Block)], changes: &mut Changes) -> Block {
    if height == 0 {
        return leaves[0].1;
    }
    // SAFETY: pages above height 0 are inner pages, alive with the version that is being edited.
    let (page, inner) = unsafe { own_page::<Inner>(old, changes) };
    for group in leaves.chunk_by(|left, right| child_of(left.0, height) == child_of(right.0, height)) {
        let child = child_of(group[0].0, height);
        inner[child] = Some(page_with(inner[child], height - 1, group, changes));
    }
    page
}

/// How far a task is with its items, and how far it has asked for what they read.
struct Ahead<'i, I> {
    items: &'i [I],
    done: usize,
    asked: usize,
}

impl<'i, I> Ahead<'i, I> {
    fn of(items: &'i [I]) -> Self {
        Ahead { items, done: 0, asked: 0 }
    }

    /// Takes the next items, those of a leaf; gives those to ask for before. Many items are read from one end to the other and
    /// need no asking, only what comes after them.
    fn take(&mut self, items: usize) -> &'i [I] {
        self.done += items;
        let from = if items < ITEMS_AHEAD { self.asked } else { self.asked.max(self.done) };
        if from < self.done + ITEMS_AHEAD / 2 {
            self.asked = (self.done + ITEMS_AHEAD).min(self.items.len());
        }
        &self.items[from..self.asked]
    }
}

struct Editor<'a, T, I, F, Q, A> {
    index_of: &'a F,
    ask: &'a Q,
    apply: &'a A,
    marker: PhantomData<fn(T, I)>,
}

impl<T, I, F, Q, A> Editor<'_, T, I, F, Q, A>
where
    T: Cell,
    I: Sync,
    F: Fn(&I) -> u32 + Sync,
    Q: Fn(&[I]) + Sync,
    A: Fn(u32, &mut Leaf<T>, &[I], &mut Changes) + Sync,
{
    /// The new page in place of `old`, or `old` itself with the edit made, where nobody else reaches it; recursion ends at the
    /// leaves, at most four levels down.
    fn page<'i>(
        &self,
        old: Option<Block>,
        height: u32,
        base: u32,
        items: &'i [I],
        ahead: &mut Ahead<'_, I>,
        changes: &mut Changes,
    ) -> Block {
        if height == 0 {
            return self.leaf(old, base, items, ahead, changes);
        }
        // SAFETY: pages above height 0 are inner pages, alive with the version that is being edited.
        let (page, inner) = unsafe { own_page::<Inner>(old, changes) };
        let groups = |items: &'i [I]| {
            items.chunk_by(|left, right| {
                child_of((self.index_of)(left), height) == child_of((self.index_of)(right), height)
            })
        };
        if items.len() < PARALLEL_ITEMS {
            for group in groups(items) {
                let (child, edited) = self.child(inner, group, height, base, ahead, changes);
                inner[child] = Some(edited);
            }
            return page;
        }
        let before = &*inner;
        let results = parallel_map(tasks_of(items, groups(items)), |items| {
            let (mut ahead, mut own) = (Ahead::of(items), changes.fork());
            let edit = |group| self.child(before, group, height, base, &mut ahead, &mut own);
            (groups(items).map(edit).collect::<Vec<(usize, Block)>>(), own)
        });
        for (edited, own) in results {
            changes.join(own);
            edited.into_iter().for_each(|(child, edited)| inner[child] = Some(edited));
        }
        page
    }

    /// Edits the child that these items touch; tells which it is.
    fn child(
        &self,
        inner: &Inner,
        items: &[I],
        height: u32,
        base: u32,
        ahead: &mut Ahead<'_, I>,
        changes: &mut Changes,
    ) -> (usize, Block) {
        let child = child_of((self.index_of)(&items[0]), height);
        let base = base + ((child as u32) << shift(height));
        (child, self.page(inner[child], height - 1, base, items, ahead, changes))
    }

    fn leaf(
        &self,
        old: Option<Block>,
        base: u32,
        items: &[I],
        ahead: &mut Ahead<'_, I>,
        changes: &mut Changes,
    ) -> Block {
        let next = ahead.take(items.len());
        if !next.is_empty() && changes.owned_after.is_none() {
            (self.ask)(next);
        }
        // SAFETY: pages at height 0 are leaves, alive with the version that is being edited.
        let (page, leaf) = unsafe { own_leaf(old, cells_of(items, self.index_of), changes) };
        (self.apply)(base, leaf, items, changes);
        page
    }
}

/// The cells of a leaf that these items touch, as bits.
pub(crate) fn cells_of<I>(items: &[I], index_of: impl Fn(&I) -> u32) -> u64 {
    items.iter().fold(0, |cells, item| cells | 1 << (index_of(item) % LEAF_CELLS))
}

/// The items, cut between groups into tasks that are worth it.
fn tasks_of<'i, I>(items: &'i [I], groups: impl Iterator<Item = &'i [I]>) -> Vec<&'i [I]> {
    let (mut tasks, mut rest, mut len) = (Vec::new(), items, 0);
    for group in groups {
        len += group.len();
        if len >= ITEMS_PER_TASK || len == rest.len() {
            let (task, behind) = rest.split_at(len);
            tasks.push(task);
            (rest, len) = (behind, 0);
        }
    }
    tasks
}

/// As [`own_page`], of a leaf, in which the edit changes what these cells say.
///
/// # Safety
/// As there.
unsafe fn own_leaf<'a, T: Cell>(
    old: Option<Block>,
    cells: u64,
    changes: &mut Changes,
) -> (Block, &'a mut Leaf<T>) {
    // SAFETY: by contract; zeros are a value of every cell.
    let (page, leaf) = unsafe { own_page::<Leaf<T>>(old, changes) };
    match changes.stamp {
        Some(stamp) if old.is_some() => leaf.note_change(stamp, cells),
        // What there was before a new page, it cannot tell.
        Some(stamp) => leaf.changed = stamp,
        None => {}
    }
    (page, leaf)
}

/// A page to write to in place of `old`: a copy of it, or itself where nobody else reaches it; without `old` one of zeros.
///
/// # Safety
/// `P` is [`Inner`] or a [`Leaf`], every field of which may be zeros, and `old` is alive and such a page. The draft that the
/// page belongs to outlives `'a`.
unsafe fn own_page<'a, P>(old: Option<Block>, changes: &mut Changes) -> (Block, &'a mut P) {
    let page = changes.replace(old, size_of::<P>(), 0);
    let target = page.pointer().cast::<P>();
    // SAFETY: the block has room for a page, and nobody else reaches it; alive and valid by contract.
    let content = unsafe {
        match old {
            Some(old) if old == page => {}
            Some(old) => target.copy_from_nonoverlapping(old.pointer().cast(), 1),
            None => target.write_bytes(0, 1),
        }
        &mut *target
    };
    (page, content)
}

/// # Safety
/// The page and those below it are alive.
unsafe fn add_page_bytes<T>(page: Block, height: u32, bytes: &mut usize) {
    if height == 0 {
        *bytes += Block::footprint_of(size_of::<Leaf<T>>());
        return;
    }
    *bytes += Block::footprint_of(size_of::<Inner>());
    // SAFETY: pages above height 0 are inner pages, alive by contract.
    let inner = unsafe { &*page.pointer().cast::<Inner>() };
    for child in inner.iter().flatten() {
        // SAFETY: by contract.
        unsafe { add_page_bytes::<T>(*child, height - 1, bytes) };
    }
}

fn walk(page: Block, height: u32, base: u32, visit: &mut dyn FnMut(Block, u32, u32)) {
    if height > 0 {
        // SAFETY: pages above height 0 are inner pages, alive with the version that holds the array.
        let inner = unsafe { &*page.pointer().cast::<Inner>() };
        for (child, page) in inner.iter().enumerate() {
            if let Some(page) = page {
                walk(*page, height - 1, base + ((child as u32) << shift(height)), visit);
            }
        }
    }
    visit(page, height, base);
}

/// Walks two trees at once, down to their leaves, at most four levels; pages that both share are passed by. `visit` gets the
/// index of the first cell below the pages, their height and those of them that there are, children first.
fn zip(
    left: (Option<Block>, u32),
    right: (Option<Block>, u32),
    base: u32,
    visit: &mut dyn FnMut(u32, u32, Option<Block>, Option<Block>),
) {
    if left == right || (left.0.is_none() && right.0.is_none()) {
        return;
    }
    let height = left.1.max(right.1);
    let children = if height == 0 { 0 } else { FANOUT };
    for child in 0..children {
        let of = |(page, own): (Option<Block>, u32)| match page {
            // A lower tree is the first child of what it would be if it were higher.
            Some(page) if own < height => ((child == 0).then_some(page), own),
            // SAFETY: pages above height 0 are inner pages, alive with the version that holds the array.
            Some(page) => (unsafe { &*page.pointer().cast::<Inner>() }[child], height - 1),
            None => (None, height - 1),
        };
        zip(of(left), of(right), base + ((child as u32) << shift(height)), visit);
    }
    let page = |(page, own): (Option<Block>, u32)| page.filter(|_| own == height);
    visit(base, height, page(left), page(right));
}

/// How far the bits that choose a child at `height` lie from the right.
fn shift(height: u32) -> u32 {
    LEAF_BITS + INNER_BITS * (height - 1)
}

fn child_of(index: u32, height: u32) -> usize {
    (u64::from(index) >> shift(height)) as usize % FANOUT
}

fn capacity(height: u32) -> u64 {
    1 << (LEAF_BITS + INNER_BITS * height)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every version of the array answers as the map it was made from, however many edits follow.
        #[test]
        fn versions_are_persistent(edits in prop::collection::vec(
            prop::collection::btree_map(0u32..200_000, prop::option::of(any::<u64>()), 1..40), 1..12))
        {
            let mut changes = Changes::new(1);
            let mut model = BTreeMap::new();
            let mut array = PagedArray::<u64>::default();
            let mut history = Vec::new();
            for edit in edits {
                let items: Vec<_> = edit.into_iter().collect();
                array = array.edit(&items, &|item| item.0, &|_, leaf, items, _| {
                    for &(index, value) in items {
                        leaf.set(index, value);
                    }
                }, &mut changes);
                model.extend(items);
                history.push((array, model.clone()));
            }
            for (array, model) in &history {
                for (&index, &value) in model {
                    prop_assert_eq!(array.get(index), value);
                }
                let mut found = Vec::new();
                array.for_each_leaf(&mut |base, leaf| {
                    found.extend((base..base + LEAF_CELLS).filter_map(|index| Some((index, leaf.get(index)?))));
                });
                let expected: Vec<_> = model.iter().filter_map(|(&index, &value)| Some((index, value?))).collect();
                prop_assert_eq!(found, expected);
            }
            let pages = |array: &PagedArray<u64>, older: &PagedArray<u64>| {
                let mut pages = Vec::new();
                array.for_each_page_since(older, &mut |page, _| pages.push(page.pointer() as usize));
                pages.sort_unstable();
                pages
            };
            for (array, _) in &history {
                let all = pages(array, &PagedArray::default());
                let (oldest, newest) = (&history[0].0, &history[history.len() - 1].0);
                for other in [oldest, newest] {
                    let others = pages(other, &PagedArray::default());
                    let apart: Vec<_> = all.iter().copied().filter(|page| !others.contains(page)).collect();
                    prop_assert_eq!(pages(array, other), apart);
                }
            }
            let mut blocks = changes.retired;
            array.for_each_page(&mut |page| blocks.push(page));
            // SAFETY: nothing reads the arrays from here on; retired and reachable blocks are disjoint.
            let freed: usize = blocks.into_iter().map(|block| unsafe { block.free() }).sum();
            prop_assert_eq!(freed, changes.allocated_bytes);
        }

        /// A leaf tells of every cell that was changed since any commit, and of none if none was.
        #[test]
        fn leaves_tell_what_was_changed_since(edits in prop::collection::vec(
            prop_oneof![
                1 => prop::collection::btree_set(0u32..130, 60..130),
                4 => prop::collection::btree_set(0u32..130, 1..6)], 1..24))
        {
            let mut changes = Changes::new(0);
            let mut versions = vec![PagedArray::<u64>::default()];
            for (sequence, edit) in edits.iter().enumerate() {
                let items: Vec<u32> = edit.iter().copied().collect();
                changes.stamp = Some(2 * sequence as u64 + 2);
                let set = |_, leaf: &mut Leaf<u64>, items: &[u32], _: &mut Changes| {
                    items.iter().for_each(|&index| leaf.set(index, Some(sequence as u64)));
                };
                versions.push(versions[sequence].edit(&items, &|&index| index, &set, &mut changes));
            }
            for since in 0..versions.len() {
                for newer in since..versions.len() {
                    let mut touched = BTreeMap::<u32, u64>::new();
                    for &index in edits[since..newer].iter().flatten() {
                        *touched.entry(index / LEAF_CELLS).or_default() |= 1 << (index % LEAF_CELLS);
                    }
                    versions[newer].for_each_leaf(&mut |base, leaf| {
                        let expected = touched.get(&(base / LEAF_CELLS)).copied().unwrap_or(0);
                        // Commits have even numbers here, and a version in between knows what the one before it does.
                        for sequence in [2 * since as u64, 2 * since as u64 + 1] {
                            let told = leaf.changed_since(sequence);
                            assert_eq!(told & expected, expected);
                            assert!(expected != 0 || told == 0);
                        }
                    });
                }
            }
            let mut blocks = changes.retired;
            versions[versions.len() - 1].for_each_page(&mut |page| blocks.push(page));
            // SAFETY: nothing reads the arrays from here on; retired and reachable blocks are disjoint.
            let freed: usize = blocks.into_iter().map(|block| unsafe { block.free() }).sum();
            prop_assert_eq!(freed, changes.allocated_bytes);
        }
    }

    #[test]
    fn a_commit_after_a_large_one_is_told_by_itself() {
        let mut changes = Changes::new(1);
        let set = |_, leaf: &mut Leaf<u64>, items: &[u32], _: &mut Changes| {
            items.iter().for_each(|&index| leaf.set(index, Some(1)));
        };
        let all: Vec<u32> = (0..LEAF_CELLS).collect();
        let mut array = PagedArray::<u64>::default();
        for (sequence, items) in [(1, &all[..]), (2, &all), (3, &all[7..8]), (4, &all[9..10])] {
            changes.stamp = Some(sequence);
            array = array.edit(items, &|&index| index, &set, &mut changes);
        }
        let told = [1, 2, 3, 4, 5].map(|since| array.leaf(0).map(|leaf| leaf.changed_since(since)));
        assert_eq!(told, [u64::MAX, 1 << 7 | 1 << 9, 1 << 7 | 1 << 9, 0, 0].map(Some));
        let mut blocks = changes.retired;
        array.for_each_page(&mut |page| blocks.push(page));
        // SAFETY: nothing reads the array from here on; retired and reachable blocks are disjoint.
        let freed: usize = blocks.into_iter().map(|block| unsafe { block.free() }).sum();
        assert_eq!(freed, changes.allocated_bytes);
    }
}
