//! Attributes that must be present, or have one of a few values.

use super::Attributes;
use crate::diagnostics::Problem;

/// Reads an attribute by its name, as [`Attributes::int`] does.
type AttributeReader<'a, T> = fn(&Attributes<'a>, &str) -> Result<Option<T>, Problem>;

impl<'a> Attributes<'a> {
    /// Reads a string that must be one of the names of `choices`.
    pub fn choice<T: Copy>(&self, name: &str, default: &str, choices: &[(&str, T)]) -> Result<T, Problem> {
        let word = self.string_or(name, default)?;
        match choices.iter().find(|(choice, _)| *choice == word) {
            Some((_, chosen)) => Ok(*chosen),
            None => {
                let names: Vec<_> = choices.iter().map(|(choice, _)| format!("`{choice}`")).collect();
                Err(Problem::expected(format_args!("`{name}`"), format_args!("`{word}`"), any_of(&names)))
            }
        }
    }

    /// Reads an attribute that must be present, as in `required("axis", Attributes::int)`.
    pub fn required<T>(&self, name: &str, read: AttributeReader<'a, T>) -> Result<T, Problem> {
        read(self, name)?.ok_or_else(|| missing(name))
    }

    /// Reads an integer greater than 0 that must be present.
    pub fn positive(&self, name: &str) -> Result<usize, Problem> {
        let number = self.required(name, Self::int)?;
        let positive = usize::try_from(number).ok().filter(|&number| number > 0);
        positive.ok_or_else(|| Problem::expected(format_args!("`{name}`"), number, "a positive integer"))
    }
}

/// Returns the problem of an attribute that must be present.
pub fn missing(name: &str) -> Problem {
    Problem::missing(format_args!("attribute `{name}`")).inconsistent()
}

/// Joins names to `a`, `a or b`, and `a, b or c`.
pub fn any_of(names: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().enumerate() {
        text += match names.len() - at {
            _ if at == 0 => "",
            1 => " or ",
            _ => ", ",
        };
        text += name.as_ref();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined() {
        assert_eq!(any_of(&["a"]), "a");
        assert_eq!(any_of(&["a", "b"]), "a or b");
        assert_eq!(any_of(&["a", "b", "c"]), "a, b or c");
    }
}
