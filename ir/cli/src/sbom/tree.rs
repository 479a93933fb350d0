//! Packages that take part in a build, as `cargo tree` lists them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::Sbom;
use super::packages::{cargo, selection};

/// Packages and the packages that each is built with, by name and version.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, BTreeSet<String>>);

impl Tree {
    /// Reads the packages that can be reached from the root by edges of these kinds.
    pub fn read(arguments: &Sbom, root: &str, edges: &str) -> Result<Self> {
        let mut words: Vec<String> =
            ["tree", "--prefix=depth", "--format={p}", "--charset=ascii"].map(str::to_owned).into();
        words.push(format!("--package={root}"));
        words.push(format!("--edges={edges}"));
        words.extend(selection(arguments));
        words.extend(arguments.target.iter().map(|target| format!("--target={target}")));
        Self::parse(&cargo(&words)?)
    }

    /// Parses lines such as `2syn v2.0.1 (proc-macro) (*)`, in which the number is the depth.
    fn parse(text: &str) -> Result<Self> {
        let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut path: Vec<String> = Vec::new();
        for line in text.lines() {
            let failed = || format!("cannot read the line `{line}` of cargo tree");
            let package = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let depth = line.strip_suffix(package).and_then(|depth| depth.parse().ok());
            let depth: usize = depth.with_context(failed)?;
            let (name, rest) = package.split_once(" v").with_context(failed)?;
            let id = identifier(name, rest.split_whitespace().next().unwrap_or_default());
            path.truncate(depth);
            if let Some(parent) = path.last() {
                packages.entry(parent.clone()).or_default().insert(id.clone());
            }
            packages.entry(id.clone()).or_default();
            path.push(id);
        }
        Ok(Tree(packages))
    }

    /// Returns the packages that depend on certain others, directly or not.
    pub fn users(&self, is_used: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let mut open: Vec<&str> = self.0.keys().map(String::as_str).filter(|id| is_used(id)).collect();
        let mut users = BTreeSet::new();
        while let Some(used) = open.pop() {
            let found = self.0.iter().filter(|(_, dependencies)| dependencies.contains(used));
            for (id, _) in found {
                if users.insert(id.as_str()) {
                    open.push(id);
                }
            }
        }
        users
    }
}

/// Returns the name of a package in commands of Cargo.
pub fn identifier(name: &str, version: &str) -> String {
    format!("{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str =
        "0program v0.1.0 (/a)\n1serde v1.0.0\n2derive v2.0.0 (proc-macro)\n3syn v3.0.0\n1syn v3.0.0 (*)\n";

    #[test]
    fn the_number_of_a_line_is_its_depth() {
        let tree = Tree::parse(LINES).unwrap();
        let dependencies = |id: &str| tree.0[id].iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(dependencies("program@0.1.0"), "serde@1.0.0 syn@3.0.0");
        assert_eq!(dependencies("derive@2.0.0"), "syn@3.0.0");
        assert_eq!((tree.0.len(), dependencies("syn@3.0.0").as_str()), (4, ""));
        assert!(Tree::parse("warning").is_err());
    }

    #[test]
    fn users_are_direct_or_not() {
        let tree = Tree::parse(LINES).unwrap();
        let users = tree.users(|id| id.starts_with("derive"));
        assert_eq!(Vec::from_iter(users), ["program@0.1.0", "serde@1.0.0"]);
    }
}
