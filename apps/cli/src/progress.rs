//! Progress bars on standard error, drawn only where that is a terminal.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use evergraph::algorithms::Control;
use evergraph::load::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt::{self, Interrupt};

const REDRAW: Duration = Duration::from_millis(100);

/// A line that says what is being done, with a sign of life, until it is dropped.
pub(crate) struct Activity<'a> {
    bar: ProgressBar,
    /// What hears the signals that stop it, and not the process.
    interrupt: Option<&'a Interrupt>,
}

impl<'a> Activity<'a> {
    /// Something of unknown length.
    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::new_spinner().with_style(style("{spinner} {msg} {elapsed}"));
        bar.set_message(what);
        bar.enable_steady_tick(REDRAW);
        Activity { bar, interrupt: None }
    }

    /// Something that tells its share of the whole. The bar is empty until the whole is known; one of no length would be full.
    pub(crate) fn of_shares(what: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::no_length().with_style(style("{msg} [{bar:30}] {percent}% {elapsed}"));
        bar.set_message(what);
        Activity { bar, interrupt: None }
    }

    /// Something of so many steps.
    pub(crate) fn of_steps(what: impl Into<Cow<'static, str>>, total: u64) -> Self {
        let bar =
            ProgressBar::new(total).with_style(style("{msg} [{bar:30}] {human_pos}/{human_len} {elapsed}"));
        bar.set_message(what);
        Activity { bar, interrupt: None }
    }

    /// That stops by itself when the user presses Ctrl-C.
    pub(crate) fn stopped_by(mut self, interrupt: &'a Interrupt) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// How many steps are done.
    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// What is being done now.
    pub(crate) fn say(&self, what: impl Into<Cow<'static, str>>) {
        self.bar.set_message(what);
    }
}

impl Drop for Activity<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Activity<'_> {
    fn update(&self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
        let stops = self.interrupt.is_some() && interrupt::heard().is_some();
        if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs an algorithm on this thread and shows how far it is meanwhile.
pub(crate) fn watch<T>(what: &'static str, run: impl FnOnce(&Control) -> T) -> T {
    let control = Control::new();
    let (finished, waiting) = channel::<()>();
    thread::scope(|scope| {
        let control = &control;
        scope.spawn(move || {
            let activity = Activity::of_steps(what, 0);
            activity.bar.unset_length();
            while waiting.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let status = control.status();
                match status.total {
                    0 => activity.bar.unset_length(),
                    total => activity.bar.set_length(total),
                }
                activity.set(status.done);
            }
        });
        let result = run(control);
        drop(finished);
        result
    })
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_not_full_before_the_whole_is_known() {
        let activity = Activity::of_shares("a.csv");
        assert_eq!(activity.bar.length(), None);
        let _ = activity.update(1, Some(4));
        assert_eq!((activity.bar.length(), activity.bar.position()), (Some(4), 1));
    }
}
