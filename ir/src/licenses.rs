//! Licenses that a file declares, and licenses that the caller accepts.

use crate::diagnostics::Problem;
use crate::proto::StringStringEntryProto;

/// Properties that declare the license of a model, in lower case. The first is that of the ONNX standard.
const PROPERTIES: [&str; 6] = ["model_license", "license", "licence", "licenses", "licences", "license_name"];

/// Maximum length of an SPDX expression, in bytes. Longer licenses are only compared as a whole.
const MAX_EXPRESSION_LEN: usize = 1000;

/// Returns `true` if a property of this name declares the license of a model.
pub fn is_license(property: &str) -> bool {
    let name = property.rsplit(['.', ':', '/']).next().unwrap_or(property);
    PROPERTIES.contains(&name.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str())
}

/// Returns `true` if an SPDX expression is satisfied by the accepted licenses, or if they contain the whole text. Case
/// and white space are not compared.
pub fn accepts(accepted: &[String], license: &str) -> bool {
    let is_accepted = |license: &str| accepted.iter().any(|entry| same(entry, license));
    if is_accepted(license) {
        return true;
    }
    if license.len() > MAX_EXPRESSION_LEN {
        return false;
    }
    let spaced = license.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut expression = Expression { words: &words, is_accepted: &is_accepted };
    expression.any().is_some_and(|accepted| accepted && expression.words.is_empty())
}

/// Checks that a model declares a license and that each license that it declares is accepted.
pub(crate) fn check(properties: &[StringStringEntryProto], accepted: &[String]) -> Result<(), Problem> {
    let declared = properties.iter().filter(|entry| is_license(&entry.key) && !entry.value.trim().is_empty());
    let mut is_declared = false;
    for entry in declared {
        is_declared = true;
        if !accepts(accepted, &entry.value) {
            let (key, value) = (&entry.key, &entry.value);
            let names: Vec<String> = accepted.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(" or ");
            let message =
                format!("the license of the model, property `{key}`, is `{value}`, expected {names}");
            return Err(Problem::new(message)
                .help("use another model, or add the license to the option `licenses` if you may use it"));
        }
    }
    if is_declared {
        return Ok(());
    }
    Err(Problem::new("the file declares no license, which the option `licenses` requires").help(
        "ask the author for the license and write it to the property `model_license` of the file, or remove the \
         option",
    ))
}

fn same(left: &str, right: &str) -> bool {
    let (mut left, mut right) = (left.split_whitespace(), right.split_whitespace());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(left), Some(right)) if left.eq_ignore_ascii_case(right) => {}
            _ => return false,
        }
    }
}

/// The rest of an SPDX expression. Functions return `None` if it is not one.
struct Expression<'a> {
    words: &'a [&'a str],
    is_accepted: &'a dyn Fn(&str) -> bool,
}

impl<'a> Expression<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut accepted = self.all()?;
        while self.takes("OR") {
            accepted |= self.all()?;
        }
        Some(accepted)
    }

    fn all(&mut self) -> Option<bool> {
        let mut accepted = self.license()?;
        while self.takes("AND") {
            accepted &= self.license()?;
        }
        Some(accepted)
    }

    fn license(&mut self) -> Option<bool> {
        if self.takes("(") {
            let accepted = self.any()?;
            return self.takes(")").then_some(accepted);
        }
        let name = self.name()?;
        if self.takes("WITH") {
            // An exception may also restrict the license, so that both must be listed as one entry.
            let exception = self.name()?;
            return Some((self.is_accepted)(&format!("{name} WITH {exception}")));
        }
        Some((self.is_accepted)(name))
    }

    fn name(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        let is_part =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '+' | ':');
        let is_word = ["OR", "AND", "WITH"].iter().any(|word| word.eq_ignore_ascii_case(first));
        if is_word || !first.chars().all(is_part) {
            return None;
        }
        self.words = rest;
        Some(*first)
    }

    fn takes(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if first.eq_ignore_ascii_case(word) => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(license: &str) -> bool {
        let accepted = ["MIT", "Apache-2.0", "BSD 3 clause", "Apache-2.0 WITH LLVM-exception"];
        super::accepts(&accepted.map(str::to_owned), license)
    }

    #[test]
    fn a_license_of_the_list_is_accepted() {
        for license in ["MIT", "mit", " Apache-2.0\n", "BSD  3 Clause", "apache-2.0 with LLVM-exception"] {
            assert!(accepts(license), "{license}");
        }
        for license in ["", "MIT License", "MI", "MIT-0", "AGPL-3.0", "https://opensource.org/license/mit"] {
            assert!(!accepts(license), "{license}");
        }
    }

    #[test]
    fn one_alternative_and_all_parts_of_an_expression_must_be_accepted() {
        for license in ["GPL-3.0 OR MIT", "MIT AND Apache-2.0", "(GPL-3.0 OR MIT) AND (Apache-2.0)"] {
            assert!(accepts(license), "{license}");
        }
        for license in [
            "GPL-3.0 OR AGPL-3.0",
            "MIT AND GPL-3.0",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT MIT",
            "MIT, GPL-3.0",
            "MIT WITH Commons-Clause",
            "MIT WITH",
            "OR",
        ] {
            assert!(!accepts(license), "{license}");
        }
    }

    #[test]
    fn long_expressions_are_not_read() {
        let nested = |depth: usize| format!("{}MIT{}", "(".repeat(depth), ")".repeat(depth));
        assert!(accepts(&nested(400)));
        assert!(!accepts(&nested(100_000)));
    }

    #[test]
    fn properties_of_licenses_have_several_names() {
        for name in
            ["license", "model_license", "License", "Model License", "org.opencontainers.image.licenses"]
        {
            assert!(is_license(name), "{name}");
        }
        for name in ["author", "license_link", "licensed_to", ""] {
            assert!(!is_license(name), "{name}");
        }
    }

    #[test]
    fn all_declared_licenses_are_checked() {
        let entry = |key: &str, value: &str| StringStringEntryProto { key: key.into(), value: value.into() };
        let problem = |properties: &[StringStringEntryProto]| {
            check(properties, &["MIT".to_owned(), "BSD-3-Clause".to_owned()]).err().map(|p| p.to_string())
        };
        assert_eq!(problem(&[entry("author", "x"), entry("license", "MIT")]), None);
        let other = [entry("license", "MIT"), entry("model_license", "GPL-3.0")];
        assert_eq!(
            problem(&other).as_deref(),
            Some(
                "the license of the model, property `model_license`, is `GPL-3.0`, expected `MIT` or \
                 `BSD-3-Clause`"
            )
        );
        let none = "the file declares no license, which the option `licenses` requires";
        assert_eq!(problem(&[]).as_deref(), Some(none));
        assert_eq!(problem(&[entry("license", " ")]).as_deref(), Some(none));
    }
}
