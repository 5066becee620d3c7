//! One hand on all long work: what loading and algorithms each call progress, as the gate's `Control`.

use std::ops::ControlFlow;

use evergraph::algorithms::Control;
use evergraph::load::Progress;

/// Tells a load's progress to a control, and the control's cancellation to the load.
pub(crate) struct LoadProgress<'a>(pub(crate) &'a Control);

impl Progress for LoadProgress<'_> {
    fn update(&self, done_bytes: u64, total_bytes: Option<u64>) -> ControlFlow<()> {
        // 0 stands for a total that is not known.
        self.0.progress(done_bytes, total_bytes.unwrap_or(0));
        if self.0.check().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
