//! Inputs that a step gets from an earlier step.

/// An input, and the output of an earlier step that it is. Each `*` in both names matches the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub input: String,
    pub output: String,
    pub step: Step,
}

/// The step whose output an input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// The step before.
    #[default]
    Last,
    /// The first step. Later steps do not change the input.
    First,
}

impl Kept {
    /// Returns `true` if both names contain `*` equally often.
    pub fn is_even(&self) -> bool {
        let [input, output] = [&self.input, &self.output].map(|name| name.matches('*').count());
        input == output
    }

    /// Returns the name of the output for an input, if the pattern matches the name of the input.
    pub fn output_of(&self, input: &str) -> Option<String> {
        let mut parts = self.output.split('*');
        let mut output = parts.next()?.to_owned();
        for (text, part) in matched(input, &self.input)?.into_iter().zip(parts) {
            output.push_str(text);
            output.push_str(part);
        }
        Some(output)
    }
}

/// Returns the texts that each `*` of a pattern matches, each but the last as short as possible.
fn matched<'n>(name: &'n str, pattern: &str) -> Option<Vec<&'n str>> {
    let mut parts = pattern.split('*');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut texts = Vec::new();
    let mut next = parts.next();
    while let Some(part) = next {
        next = parts.next();
        let (text, after) = match next {
            Some(_) => rest.split_once(part)?,
            None => (rest.strip_suffix(part)?, ""),
        };
        texts.push(text);
        rest = after;
    }
    rest.is_empty().then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_the_same_text_in_both_names() {
        let found = |pattern: &str, name| {
            let (input, output) = pattern.split_once(" = ").unwrap();
            Kept { input: input.to_owned(), output: output.to_owned(), step: Step::Last }.output_of(name)
        };
        for (pattern, name, output) in [
            ("h = hn", "h", Some("hn")),
            ("h = hn", "h2", None),
            ("past_* = present_*", "past_key_0", Some("present_key_0")),
            ("past_* = present_*", "past_", Some("present_")),
            ("p.*.decoder.* = q.*.decoder.*", "p.11.decoder.key", Some("q.11.decoder.key")),
            ("p.*.decoder.* = q.*.decoder.*", "p.11.encoder.key", None),
            ("p.*.decoder.* = *.q.*", "p.1.decoder.v", Some("1.q.v")),
            ("*.key = *.next", "a.key.key", Some("a.key.next")),
            ("*a* = *b*", "xay a", Some("xby a")),
            ("a*b = c*d", "ab", Some("cd")),
            ("a*a = c*d", "a", None),
        ] {
            assert_eq!(found(pattern, name).as_deref(), output, "{pattern}, {name}");
        }
    }
}
