//! What the module holds. One place lists every function and class that Python sees.

/// The native half of Evergraph; use `import evergraph` instead.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::algorithm::{VertexTable, algorithms, run_algorithm};
    #[pymodule_export]
    use crate::command::run_cli;
    #[pymodule_export]
    use crate::database::{Database, check, open};
    #[pymodule_export]
    use crate::events::Subscription;
    #[pymodule_export]
    use crate::frontier::Frontiers;
    #[pymodule_export]
    use crate::history::{Stream, diff};
    #[pymodule_export]
    use crate::incremental::Incremental;
    #[pymodule_export]
    use crate::load::LoadReport;
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::span::{span_seconds, span_units};
    #[pymodule_export]
    use crate::table::{Column, Table};
    #[pymodule_export]
    use crate::transaction::{PendingCommit, Savepoint, Transaction, conflict_backoff};
    #[pymodule_export]
    use crate::window::Window;

    #[pymodule_export]
    use crate::view::View;

    /// Says how the memory of the module is laid out, and tells the stores what its allocator can do.
    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        evergraph_cli::prepare_allocator();
        evergraph::use_allocator(evergraph_cli::ALLOCATOR);
        Ok(())
    }

    /// The version of the package, the same in Rust and Python.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python fixes the name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
