//! Which crate may depend on which: data flows one way, so dependencies do too.
//!
//! ```text
//!  types ◄┬─ disk ◄─────┬─ log ◄─────┬─ store ◄─ view ◄┬─ analytics ◄┬─ stream ◄┬─ evergraph ◄─ cli ◄─ python
//!         └─ generate ◄─┘ segment ◄──┘                 └─ load ◄─────┘ views ◄──┘
//! ```
//!
//! A crate may use every crate of a level above its own in [`LEVELS`], and none of its own level or below, in
//! tests as in code. What stands beside the path is in [`BESIDE`].

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

use serde_json::Value;

use crate::Finding;

/// The crates on the data path, without their prefix, in the order data flows.
pub const LEVELS: &[&[&str]] = &[
    &["types"],
    &["disk", "generate"],
    &["log", "segment"],
    &["store"],
    &["view"],
    &["analytics", "load"],
    &["stream", "views"],
    &["evergraph"],
    &["cli"],
    &["python"],
];

/// The crates beside the data path: (crate, what it may use, who may use it).
pub const BESIDE: &[(&str, &[&str], &[&str])] = &[
    // Measured against, so it shares nothing with what it measures but the input.
    ("yardstick", &["generate"], &["analytics", "cli"]),
    // Judges what was seen, so it knows nothing of who was seen.
    ("proof", &[], &["store", "fuzz", "cli"]),
    // Reads bytes on every way there is.
    ("fuzz", &["types", "disk", "log", "store", "view", "load", "views", "proof"], &[]),
    ("rivals", &[], &["cli"]),
    ("tidy", &[], &[]),
];

/// One dependency inside the workspace, as its manifest states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The crate that depends, without its prefix.
    pub from: String,
    /// The crate it depends on, without its prefix.
    pub to: String,
    /// Where.
    pub place: Finding,
}

/// Why `from` may not depend on `to`, or `None` if it may.
pub fn refusal(from: &str, to: &str) -> Option<String> {
    if let Some((_, uses, _)) = BESIDE.iter().find(|(name, ..)| *name == from) {
        return (!uses.contains(&to)).then(|| format!("{from} may use only {uses:?} of this workspace"));
    }
    if let Some((_, _, users)) = BESIDE.iter().find(|(name, ..)| *name == to) {
        return (!users.contains(&from)).then(|| format!("{to} may be used only by {users:?}"));
    }
    match (level(from), level(to)) {
        (Some(from_level), Some(to_level)) if to_level < from_level => None,
        (Some(_), Some(_)) => Some(format!(
            "{to} does not come before {from} in the data path: move the code, or turn the arrow round"
        )),
        (None, _) => Some(format!("{from} has no place yet: give it one in LEVELS or BESIDE")),
        (_, None) => Some(format!("{to} has no place yet: give it one in LEVELS or BESIDE")),
    }
}

/// Every arrow of the workspace that is refused.
pub fn check(arrows: &[Arrow]) -> Vec<Finding> {
    let refused = |arrow: &Arrow| {
        let why = refusal(&arrow.from, &arrow.to)?;
        let message = format!("{} depends on {}: {why} (crates/tidy/src/arrows.rs)", arrow.from, arrow.to);
        Some(Finding { message, ..arrow.place.clone() })
    };
    arrows.iter().filter_map(refused).collect()
}

/// Every dependency between two crates of the workspace at `root`, development and build dependencies included.
pub fn of_workspace(root: &Path) -> io::Result<Vec<Arrow>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let mut arrows = Vec::new();
    for package in items(&metadata["packages"]) {
        let manifest = Path::new(text(&package["manifest_path"]));
        let inside =
            items(&package["dependencies"]).iter().filter(|dependency| dependency["path"].is_string());
        for dependency in inside {
            let name = text(&dependency["name"]);
            let place = Finding {
                path: relative(manifest, &root.canonicalize()?),
                line: line_of(&fs::read_to_string(manifest)?, name),
                message: String::new(),
            };
            arrows.push(Arrow { from: short(text(&package["name"])), to: short(name), place });
        }
    }
    Ok(arrows)
}

fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| level.contains(&name))
}

fn short(package: &str) -> String {
    package.strip_prefix("evergraph-").unwrap_or(package).to_owned()
}

fn line_of(manifest: &str, name: &str) -> usize {
    let defines = |line: &str| line.contains(name) && !line.starts_with("name");
    manifest.lines().position(defines).map_or(1, |index| index + 1)
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_along_the_data_path_are_allowed() {
        for (from, to) in
            [("python", "types"), ("store", "log"), ("view", "store"), ("analytics", "generate")]
        {
            assert_eq!(refusal(from, to), None, "{from} -> {to}");
        }
        assert_eq!(refusal("cli", "yardstick"), None);
        assert_eq!(refusal("yardstick", "generate"), None);
    }

    #[test]
    fn any_other_arrow_is_refused() {
        let others = [("types", "store"), ("log", "segment"), ("load", "analytics"), ("store", "view")];
        for (from, to) in others {
            assert!(refusal(from, to).is_some_and(|why| why.contains("data path")), "{from} -> {to}");
        }
        for (from, to) in
            [("evergraph", "yardstick"), ("yardstick", "store"), ("cli", "tidy"), ("tidy", "types")]
        {
            assert!(refusal(from, to).is_some_and(|why| why.contains("only")), "{from} -> {to}");
        }
        assert!(refusal("newcomer", "types").is_some_and(|why| why.contains("no place")));
        assert!(refusal("cli", "newcomer").is_some_and(|why| why.contains("no place")));
    }

    #[test]
    fn a_refused_arrow_is_told_where_it_stands() {
        let manifest =
            "[package]\nname = \"evergraph-log\"\n\n[dependencies]\nevergraph-store.workspace = true\n";
        let line = line_of(manifest, "evergraph-store");
        let place = Finding { path: "crates/log/Cargo.toml".into(), line, message: String::new() };
        let found = check(&[Arrow { from: "log".into(), to: "store".into(), place }]);
        assert!(found[0].to_string().starts_with("crates/log/Cargo.toml:5: log depends on store: "));
    }
}
