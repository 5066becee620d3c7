//! What a rule found, and how it is told.

use std::fmt;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root of the repository.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// All findings, one a line, as the message of a failed test; `None` if there is none.
pub fn report(findings: &[Finding]) -> Option<String> {
    if findings.is_empty() {
        return None;
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Some(format!("{} to tidy:\n{}\n", findings.len(), lines.join("\n")))
}
