//! How much history a store keeps.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// For how long old versions can be asked for.
///
/// ```
/// # use std::time::Duration;
/// # use evergraph_store::Retain;
/// assert_eq!(Retain::from_text("7d"), Some(Retain::Time(Duration::from_secs(7 * 86_400))));
/// assert_eq!(Retain::from_text("1000"), Some(Retain::Commits(1000)));
/// assert_eq!(Retain::from_text("all"), Some(Retain::Everything));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Retain {
    /// Only what is needed anyway: the newest version, and what readers of the log hold.
    #[default]
    Nothing,
    /// At least so many commits before the newest one.
    Commits(u64),
    /// At least every version of so much time before now.
    Time(Duration),
    /// All from the moment on that this is said.
    Everything,
}

impl Retain {
    /// Reads `none`, `all`, a number of commits, or a time such as `90s`, `30m`, `12h`, `7d`, `4w`.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "none" => return Some(Retain::Nothing),
            "all" => return Some(Retain::Everything),
            _ => {}
        }
        if let Ok(commits) = text.parse() {
            return Some(Retain::Commits(commits));
        }
        let seconds: u64 = match text.chars().last()? {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        let number: u64 = text[..text.len() - 1].parse().ok()?;
        Some(Retain::Time(Duration::from_secs(number.checked_mul(seconds)?)))
    }
}

impl fmt::Display for Retain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retain::Nothing => f.write_str("none"),
            Retain::Commits(commits) => write!(f, "{commits}"),
            Retain::Time(time) => write!(f, "{}s", time.as_secs()),
            Retain::Everything => f.write_str("all"),
        }
    }
}
