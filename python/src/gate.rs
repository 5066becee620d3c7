//! The gate between Python and Rust: the only place that lets go of the interpreter, waits, and turns errors of work
//! done without it into exceptions.
//!
//! ```text
//!  detached:            detach ── work ── attach
//!  copying:             as detached, if that is worth it
//!  enter:               detach ── work ── attach ── error to exception
//!  once:                detach ── work, or wait for who does it ── attach
//!
//!  enter_interruptibly,
//!  enter_writing:       this thread      wait 50 ms ── Ctrl-C? ── progress(done, total) ── wait 50 ms ── ...
//!                       a thread of its own    work(&control) ────────────────────────────► result
//! ```
//!
//! Invariant: Python code (signal handlers, progress callbacks) runs on the calling thread only, and the work is over
//! when either function returns.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use evergraph::algorithms::Control;
use evergraph::in_callers_pool;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;

use crate::error::Raise;

/// How often signals are looked at and progress is told.
const POLL: Duration = Duration::from_millis(50);

/// Bytes that are copied without the interpreter.
const MANY_BYTES: usize = 1 << 20;

/// How long somebody waits for something, in slices between which signals are looked at.
pub(crate) struct Patience {
    /// `None` for ever.
    until: Option<Instant>,
}

impl Patience {
    /// So many seconds from now; for ever if none are said, or more than a clock tells.
    pub(crate) fn of(seconds: Option<f64>) -> Self {
        let until = seconds.and_then(|seconds| Instant::now().checked_add(duration(seconds)));
        Patience { until }
    }

    /// How long to wait next.
    pub(crate) fn slice(&self) -> Duration {
        self.until.map_or(POLL, |until| until.saturating_duration_since(Instant::now()).min(POLL))
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

/// Seconds as Python's `seconds_of` gives them, which refuses what is no duration; what is beyond every clock is as long as any.
pub(crate) fn duration(seconds: f64) -> Duration {
    let beyond = if seconds > 0.0 { Duration::MAX } else { Duration::ZERO };
    Duration::try_from_secs_f64(seconds).unwrap_or(beyond)
}

/// Runs work that cannot fail without the interpreter. Like all that goes through the gate it has threads to fork to, also in a
/// process that Python forked.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| in_callers_pool(work))
}

/// Runs work that copies so many bytes, without the interpreter if there are many: to come back to it may take longer than to copy a few.
pub(crate) fn copying<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    if bytes < MANY_BYTES { work() } else { py.detach(work) }
}

/// Runs work that is done once, by who comes first, and gives everybody its result. The others wait without the interpreter, and
/// without a thread that the work may need.
pub(crate) fn once<'a, T: Send + Sync>(
    py: Python<'_>,
    result: &'a OnceLock<T>,
    work: impl FnOnce() -> T + Send,
) -> &'a T {
    match result.get() {
        Some(result) => result,
        None => py.detach(|| result.get_or_init(|| in_callers_pool(work))),
    }
}

/// Runs work that takes no longer than a disk does, without the interpreter.
pub(crate) fn enter<T: Send, E: Raise + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    require_threads()?;
    detached(py, work).map_err(|error| error.raise(py))
}

/// Runs long work on a thread of its own, while this one listens for Ctrl-C and calls `progress(done, total)`. If
/// either raises, the work is told to stop, and what was raised is the result.
pub(crate) fn enter_interruptibly<T: Send, E: Raise + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, E> + Send,
) -> PyResult<T> {
    match run(py, progress, work)? {
        (_, Some(error)) => Err(error),
        (result, None) => result.map_err(|error| error.raise(py)),
    }
}

/// As [`enter_interruptibly`], for work that writes: it is undone if it is told to stop in time, and then what was raised is the
/// result. If it was too late the work is done, and its result is the result, so that what raises was not done. What a progress
/// callback has raised in vain is reported as Python reports what it cannot raise.
pub(crate) fn enter_writing<T: Send, E: Raise + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, E> + Send,
) -> PyResult<T> {
    match run(py, progress, work)? {
        (Ok(value), raised) => {
            let in_vain = raised.filter(|error| !error.is_instance_of::<PyKeyboardInterrupt>(py));
            in_vain.into_iter().for_each(|error| error.write_unraisable(py, progress));
            Ok(value)
        }
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) => Err(error.raise(py)),
    }
}

/// Runs work that is told to stop when something is raised; gives its result, and what was raised.
fn run<T: Send, E: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, E> + Send,
) -> PyResult<(Result<T, E>, Option<PyErr>)> {
    require_threads()?;
    let control = Control::new();
    let (done, wakeup) = (Mutex::new(false), Condvar::new());
    let work = Mutex::new(Some(work));
    let attempt = || {
        let _finished = Finished(&done, &wakeup);
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| in_callers_pool(|| work(&control)))
    };
    let (result, raised) = std::thread::scope(|scope| {
        let Ok(worker) = std::thread::Builder::new().spawn_scoped(scope, attempt) else {
            // The system has no thread to give: this one works, and listens afterwards.
            return (Ok(py.detach(attempt)), None);
        };
        let mut raised = None;
        while !py.detach(|| wait(&done, &wakeup)) {
            let polled = py.check_signals().and_then(|()| tell(progress, &control));
            if let (Err(error), None) = (polled, &raised) {
                control.cancel();
                raised = Some(error);
            }
        }
        (worker.join(), raised)
    });
    let result = result.unwrap_or_else(|panic| resume_unwind(panic));
    let result = result.unwrap_or_else(|| unreachable!("the work was begun once"));
    // A signal of the last moments, too: it would be raised as soon as this returns.
    let raised = raised.or_else(|| py.check_signals().and_then(|()| tell(progress, &control)).err());
    Ok((result, raised))
}

/// Refuses where the system has no threads to give, without which nothing runs that forks.
fn require_threads() -> PyResult<()> {
    evergraph::require_threads().map_err(|error| {
        let what = "Evergraph gets no threads to work with";
        let how = "raise the limit on processes (`ulimit -u`, or that of the container), or ask for fewer with RAYON_NUM_THREADS";
        PyOSError::new_err(format!("{what}: {error}; {how}"))
    })
}

/// Says that the work is over when it is dropped, be it by a panic.
struct Finished<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// Waits for the end of the work, at most [`POLL`]; tells whether it is over.
fn wait(done: &Mutex<bool>, wakeup: &Condvar) -> bool {
    let done = done.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = wakeup.wait_timeout_while(done, POLL, |done| !*done);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

fn tell(progress: Option<&Bound<'_, PyAny>>, control: &Control) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let status = control.status();
    progress.call1((status.done, status.total)).map(drop)
}
