//! A version that is nothing but its number.

/// The version.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub(crate) sequence: u64,
}
