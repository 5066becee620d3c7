//! The code of docs/algorithms.md on algorithms of one's own, which runs as printed when documentation is tested.
#![doc = include_str!("../../analytics/src/own_algorithms.md")]
