//! Locations of modules in lists.

/// Location of a module in a list of modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path of the list.
    pub list: Vec<String>,
    pub number: usize,
    /// `true` for a module that the file names, `false` for a group that the compiler made.
    pub is_module: bool,
}

impl Place {
    /// Returns the name of the list: `layer` for `encoder.layer`.
    pub fn word(&self) -> &str {
        let word = self.list.iter().rfind(|word| !is_number(word));
        word.map_or("part", String::as_str)
    }
}

/// Returns `true` if a module has a number instead of a name.
pub fn is_number(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit())
}
