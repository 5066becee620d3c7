//! A property on random values, for tests that say how many.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// Runs the test on so many values; a failure is told with the smallest that was found.
pub(crate) fn for_all<S: Strategy>(cases: u32, values: &S, test: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(values, |value| {
        test(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
