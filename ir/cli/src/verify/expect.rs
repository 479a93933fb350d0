//! Models that are known to differ, each with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Reasons by the models' names.
#[derive(Debug, Default)]
pub struct Expectations {
    reasons: BTreeMap<String, String>,
}

impl Expectations {
    /// Reads `name = "reason"` lines, a subset of TOML.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("`{}` cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| format!("in `{}`", path.display()))
    }

    /// Why the model is known to differ.
    pub fn reason(&self, model: &str) -> Option<&str> {
        self.reasons.get(model).map(String::as_str)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut reasons = BTreeMap::new();
        for (at, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts = line
                .split_once('=')
                .map(|(name, reason)| (name.trim(), reason.trim()));
            let reason = parts.and_then(|(name, reason)| {
                let reason = reason.strip_prefix('"')?.strip_suffix('"')?;
                (!reason.is_empty()).then(|| (name.to_owned(), reason.to_owned()))
            });
            let Some((name, reason)) = reason else {
                bail!("line {} is not `model = \"reason\"`", at + 1);
            };
            reasons.insert(name, reason);
        }
        Ok(Expectations { reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_a_reason() {
        let expectations = Expectations::parse("# known\nfoo = \"noise\"\n").unwrap();
        assert_eq!(expectations.reason("foo"), Some("noise"));
        assert_eq!(expectations.reason("bar"), None);
    }

    #[test]
    fn a_line_without_a_reason_is_an_error() {
        assert!(Expectations::parse("foo = \"\"").is_err());
        assert!(Expectations::parse("foo").is_err());
    }
}
