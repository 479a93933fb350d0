//! Checksums of packages in Cargo.lock.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// SHA-256 of packages, by name, version and source.
#[derive(Debug, Default)]
pub struct Checksums(BTreeMap<[String; 3], String>);

impl Checksums {
    /// Reads the file of a workspace.
    pub fn read(workspace: &Path) -> Result<Self> {
        let path = workspace.join("Cargo.lock");
        let text = std::fs::read_to_string(&path);
        Ok(Self::parse(&text.with_context(|| format!("cannot read `{}`", path.display()))?))
    }

    /// Parses the form in which Cargo writes the file: one `key = "value"` per line.
    fn parse(text: &str) -> Self {
        let mut checksums = BTreeMap::new();
        for package in text.split("[[package]]").skip(1) {
            let value = |key: &str| {
                let mut lines = package.lines();
                let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
                found.map(|value| value.trim_matches('"').to_owned())
            };
            if let (Some(name), Some(version), Some(source), Some(checksum)) =
                (value("name"), value("version"), value("source"), value("checksum"))
            {
                checksums.insert([name, version, source], checksum);
            }
        }
        Checksums(checksums)
    }

    pub fn get(&self, name: &str, version: &str, source: &str) -> Option<&str> {
        self.0.get(&[name, version, source].map(str::to_owned)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_registries_have_checksums() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
                    checksum = \"00ff\"\ndependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"b\"\n\
                    version = \"2.0.0\"\n";
        let checksums = Checksums::parse(lock);
        assert_eq!(checksums.get("a", "1.0.0", "registry+x"), Some("00ff"));
        assert_eq!(checksums.get("a", "1.0.1", "registry+x"), None);
        assert_eq!(checksums.0.len(), 1);
    }
}
