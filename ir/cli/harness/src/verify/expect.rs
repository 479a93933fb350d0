//! Known differences and device reads of models, with reasons.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Reasons for differences, and numbers of device reads, by model name.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    reasons: BTreeMap<String, String>,
    reads: BTreeMap<String, u64>,
}

/// Meaning of the lines below a header.
enum Section {
    Reasons,
    Reads,
    /// The condition of the header does not hold here.
    Nothing,
}

impl Expectations {
    /// Reads `name = "reason"` lines, a subset of TOML. Lines below `["VARIABLE=WORD"]` apply if the environment
    /// variable has this value, lines below `["device=NAME"]` on that device. Below `[reads]`, the reason starts with a
    /// number and a colon: the number of values that the model may read back from the device.
    pub fn open(path: &Path, device: &str) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let holds = |variable: &str, word: &str| match variable {
            "device" => word == device,
            _ => env::var_os(variable).is_some_and(|set| set == word),
        };
        Self::parse(&text, holds).with_context(|| format!("in `{}`", path.display()))
    }

    /// Returns the reason why the model is known to differ, if it is.
    pub fn reason(&self, model: &str) -> Option<&str> {
        self.reasons.get(model).map(String::as_str)
    }

    /// Returns the number of values that the model may read back from the device.
    pub fn reads(&self, model: &str) -> u64 {
        self.reads.get(model).copied().unwrap_or(0)
    }

    fn parse(text: &str, holds: impl Fn(&str, &str) -> bool) -> Result<Self> {
        let mut all = Expectations::default();
        let mut section = Section::Reasons;
        for (at, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == "[reads]" {
                section = Section::Reads;
                continue;
            }
            if line.starts_with('[') {
                let setting = line.strip_prefix("[\"").and_then(|line| line.strip_suffix("\"]"));
                let setting = setting.and_then(|setting| setting.split_once('='));
                let Some((variable, word)) = setting else {
                    bail!("line {}: expected `[\"VARIABLE=WORD\"]`", at + 1);
                };
                section = if holds(variable, word) { Section::Reasons } else { Section::Nothing };
                continue;
            }
            let parts = line.split_once('=').map(|(name, reason)| (name.trim(), reason.trim()));
            let reason = parts.and_then(|(name, reason)| {
                let reason = reason.strip_prefix('"')?.strip_suffix('"')?;
                (!reason.is_empty()).then(|| (name.to_owned(), reason.to_owned()))
            });
            let Some((name, reason)) = reason else {
                bail!("line {}: expected `model = \"reason\"`", at + 1);
            };
            match section {
                Section::Nothing => {}
                Section::Reasons => {
                    all.reasons.insert(name, reason);
                }
                Section::Reads => {
                    let most = reason.split_once(':').map(|(most, _)| most.parse());
                    let Some(Ok(most)) = most else {
                        bail!("line {}: expected `model = \"N: reason\"`", at + 1);
                    };
                    all.reads.insert(name, most);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expectations> {
        Expectations::parse(text, |variable, word| (variable, word) == ("PLAIN", "1"))
    }

    #[test]
    fn a_model_has_a_reason() {
        let expectations = parse("# known\nfoo = \"noise\"\n").unwrap();
        assert_eq!(expectations.reason("foo"), Some("noise"));
        assert_eq!(expectations.reason("bar"), None);
    }

    #[test]
    fn a_reason_below_a_variable_holds_where_it_is_set() {
        let text = "[\"PLAIN=1\"]\nfoo = \"noise\"\n[\"PLAIN=0\"]\nbar = \"noise\"\n";
        let expectations = parse(text).unwrap();
        assert_eq!(expectations.reason("foo"), Some("noise"));
        assert_eq!(expectations.reason("bar"), None);
    }

    #[test]
    fn a_model_may_wait_so_often() {
        let expectations = parse("foo = \"noise\"\n[reads]\nbar = \"4: boxes\"\n").unwrap();
        assert_eq!(expectations.reads("foo"), 0);
        assert_eq!(expectations.reads("bar"), 4);
        assert_eq!(expectations.reason("bar"), None);
        assert!(parse("[reads]\nbar = \"boxes\"").is_err());
    }

    #[test]
    fn a_line_without_a_reason_is_an_error() {
        assert!(parse("foo = \"\"").is_err());
        assert!(parse("foo").is_err());
        assert!(parse("[PLAIN]").is_err());
    }
}
