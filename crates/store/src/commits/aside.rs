//! A thread that does one thing at a time for others, who do something else meanwhile.
//!
//! Not one of a pool: a worker of rayon's that is done looks for more before it sleeps, and each look gives the processor to whoever
//! wants it, which among many callers is a change of threads for nothing.
//!
//! Invariant: what is taken is done, once, and whoever waits for it is told when it is, or that it never will be.

use std::fmt;
use std::mem::replace;

use crate::system::sync::{Condvar, Mutex, MutexGuard, lock, wait};

/// Where the thread is asked for something, and answers.
pub(crate) struct Aside<J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
}

struct State<J, R> {
    step: Step<J, R>,
    /// Whether there is a thread.
    is_served: bool,
    /// Whether nothing more is taken.
    is_ended: bool,
}

enum Step<J, R> {
    Idle,
    Asked(J),
    UnderWay,
    Done(R),
}

impl<J, R> Default for Aside<J, R> {
    fn default() -> Self {
        let state = State { step: Step::Idle, is_served: false, is_ended: false };
        Aside { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<J, R> fmt::Debug for Aside<J, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aside").finish_non_exhaustive()
    }
}

impl<J, R> Aside<J, R> {
    /// Asks for something to be done; gives it back where no thread could begin at once.
    pub(crate) fn ask(&self, job: J) -> Result<(), J> {
        let mut state = lock(&self.state);
        let is_free = matches!(state.step, Step::Idle | Step::Done(_));
        if !state.is_served || state.is_ended || !is_free {
            return Err(job);
        }
        state.step = Step::Asked(job);
        self.leave(state);
        Ok(())
    }

    /// Has `work` done while `here` is; gives what came of both, of the first `None` if the thread has panicked. Does it here if the thread has
    /// not begun by then: the system may have it wait for the processor that the caller has had all the while.
    pub(crate) fn join<T>(
        &self,
        job: J,
        work: impl FnOnce(J) -> R,
        here: impl FnOnce() -> T,
    ) -> (Option<R>, T) {
        let asked = self.ask(job);
        let done_here = here();
        let done = match asked {
            Ok(()) => self.answer(work),
            Err(job) => Some(work(job)),
        };
        (done, done_here)
    }

    /// Waits for what came of it, or does it.
    fn answer(&self, work: impl FnOnce(J) -> R) -> Option<R> {
        let mut state = lock(&self.state);
        loop {
            match replace(&mut state.step, Step::Idle) {
                Step::Asked(job) => {
                    drop(state);
                    return Some(work(job));
                }
                Step::Done(result) => return Some(result),
                Step::Idle => return None,
                Step::UnderWay => state.step = Step::UnderWay,
            }
            state = wait(&self.changed, state);
        }
    }

    /// Takes nothing more; whoever serves returns when what was taken is done.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        state.is_ended = true;
        self.leave(state);
    }

    /// Does what is asked for, on this thread, until that ends.
    pub(crate) fn serve(&self, work: impl Fn(J) -> R) {
        lock(&self.state).is_served = true;
        let _unserved = Unserved(self);
        while let Some(job) = self.next() {
            let result = work(job);
            let mut state = lock(&self.state);
            state.step = Step::Done(result);
            self.leave(state);
        }
    }

    /// What is asked for next; `None` at the end.
    fn next(&self) -> Option<J> {
        let mut state = lock(&self.state);
        loop {
            match replace(&mut state.step, Step::UnderWay) {
                Step::Asked(job) => return Some(job),
                step => state.step = step,
            }
            if state.is_ended {
                return None;
            }
            state = wait(&self.changed, state);
        }
    }

    /// After a change: whoever waits for one is told. One asks at a time, so nobody is woken for nothing.
    fn leave(&self, state: MutexGuard<'_, State<J, R>>) {
        drop(state);
        self.changed.notify_all();
    }
}

/// Says, when dropped, that nobody serves any more.
struct Unserved<'a, J, R>(&'a Aside<J, R>);

impl<J, R> Drop for Unserved<'_, J, R> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_served = false;
        // What was under way is not done.
        if matches!(state.step, Step::UnderWay) {
            state.step = Step::Idle;
        }
        self.0.leave(state);
    }
}
