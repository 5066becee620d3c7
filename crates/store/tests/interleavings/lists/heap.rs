//! Blocks that know what became of them; each order of threads has its own.

use std::cell::RefCell;

thread_local! {
    // The scheduler runs all threads of a test on the one that asked for it.
    static HEAP: RefCell<Vec<State>> = const { RefCell::new(Vec::new()) };
}

/// The number of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Born(u32),
    Spare,
    Freed,
}

/// Forgets all blocks.
pub(crate) fn empty_heap() {
    HEAP.with_borrow_mut(Vec::clear);
}

/// Whether nothing is left of them.
pub(crate) fn is_all_freed() -> bool {
    HEAP.with_borrow(|heap| !heap.is_empty() && heap.iter().all(|state| *state == State::Freed))
}

impl Block {
    pub(crate) fn allocate(born: u32) -> Self {
        HEAP.with_borrow_mut(|heap| {
            heap.push(State::Born(born));
            Block(heap.len() - 1)
        })
    }

    fn state(self) -> State {
        HEAP.with_borrow(|heap| heap[self.0])
    }

    fn turn_to(self, state: State) {
        HEAP.with_borrow_mut(|heap| heap[self.0] = state);
    }

    pub(crate) fn prefetch(self) {}

    pub(crate) fn footprint(self) -> usize {
        assert_ne!(self.state(), State::Freed, "a block that is freed is not looked at");
        1
    }

    pub(crate) fn born(self) -> u32 {
        match self.state() {
            State::Born(born) => born,
            state => panic!("a block that is looked at is {state:?}"),
        }
    }

    pub(crate) fn keep(self) {
        self.born();
        self.turn_to(State::Spare);
    }

    pub(crate) fn renew(self, born: u32) {
        assert_eq!(self.state(), State::Spare, "a block is taken once");
        self.turn_to(State::Born(born));
    }

    pub(crate) fn free(self) -> usize {
        assert_ne!(self.state(), State::Freed, "a block is freed once");
        self.turn_to(State::Freed);
        1
    }
}
