//! Cases that are known to fail, each with the reason.

use std::collections::BTreeMap;
use std::path::Path;

/// Reasons by case name.
#[derive(Debug)]
pub struct Expectations {
    reasons: BTreeMap<String, String>,
}

impl Expectations {
    /// Reads lines `name = "reason"`, a subset of TOML. Lines after `["DEVICE=name"]` apply to that device only.
    pub fn open(device: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expectations.toml");
        let text = std::fs::read_to_string(path).expect("expectations.toml is there");
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut section = device;
        let mut reasons = BTreeMap::new();
        for line in lines {
            if let Some(name) = line.strip_prefix("[\"DEVICE=") {
                let name = name.strip_suffix("\"]");
                section = name.unwrap_or_else(|| panic!("`{line}` is not `[\"DEVICE=name\"]`"));
                continue;
            }
            let parts = line.split_once(" = ");
            let reason = parts.and_then(|(name, reason)| {
                let reason = reason.strip_prefix('"')?.strip_suffix('"')?;
                (reason.len() > 20).then(|| (name.to_owned(), reason.to_owned()))
            });
            let (name, reason) = reason.unwrap_or_else(|| panic!("`{line}` is not `case = \"reason\"`"));
            if section == device {
                reasons.insert(name, reason);
            }
        }
        Expectations { reasons }
    }

    /// Returns the reason why the case is known to fail.
    pub fn reason(&self, case: &str) -> Option<&str> {
        self.reasons.get(case).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.reasons.keys().map(String::as_str)
    }
}
