//! Which version a command line means: a number, or a time.

use evergraph::At;
use evergraph::load::parse_timestamp;

/// Reads a version number, or a time such as `2026-01-31T12:00:00Z`.
pub(crate) fn at(text: &str) -> Result<At, String> {
    if let Ok(version) = text.parse() {
        return Ok(At::Commit(version));
    }
    let time = parse_timestamp(text.as_bytes()).map(At::Time);
    time.ok_or_else(|| "neither a version number nor a time such as 2026-01-31T12:00:00Z".to_owned())
}
