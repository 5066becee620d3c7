//! One hand on all long work: what stores and loads on the one side and algorithms on the other call progress, as the gate's
//! `Control`.

use std::ops::ControlFlow;

use evergraph::algorithms::Control;
use evergraph::load::Progress;

/// Tells the progress of work to a control, and the control's cancellation to the work.
pub(crate) struct Told<'a>(pub(crate) &'a Control);

impl Progress for Told<'_> {
    fn update(&self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        // 0 stands for a total that is not known.
        self.0.progress(done, total.unwrap_or(0));
        if self.0.check().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
