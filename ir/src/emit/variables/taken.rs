//! Names of variables and the ranges in which they are used.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::rust::{Size, Variable};

/// A variable that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    Value(Variable),
    Size(Size),
}

/// Names of variables. A name is free again after the last use of its variable. Names that are chosen inside braces end
/// with them.
#[derive(Debug, Default)]
pub struct Taken {
    names: BTreeMap<Named, Rc<str>>,
    /// Names that must not be shadowed.
    fixed: BTreeSet<String>,
    /// Variables in use, by name.
    users: BTreeMap<Rc<str>, BTreeSet<Named>>,
    /// Variables in use, by the index of their last occurrence.
    ends: BTreeMap<usize, Vec<Named>>,
    /// Numbers that were appended to each name.
    numbers: BTreeMap<String, Numbers>,
    /// Named variables and their previous names, which are restored at the end of braces.
    log: Vec<(Named, Option<Rc<str>>)>,
}

/// Numbers that were appended to a name.
#[derive(Debug)]
struct Numbers {
    /// Lowest number that was never tried.
    next: usize,
    /// Lower numbers that were released. Some may be in use again.
    released: BTreeSet<usize>,
}

impl Taken {
    /// Returns the names of all variables, including those no longer in use.
    pub fn names(&self) -> &BTreeMap<Named, Rc<str>> {
        &self.names
    }

    /// Reserves a name.
    pub fn fix(&mut self, name: &str) {
        self.fixed.insert(name.to_owned());
    }

    /// Returns `true` if the name is not reserved and no variable in use has it.
    pub fn is_free(&self, name: &str) -> bool {
        let used = self.users.get(name).is_some_and(|users| !users.is_empty());
        !used && !self.fixed.contains(name)
    }

    /// Returns `wanted`, with the lowest free number appended if it is taken.
    pub fn unused(&mut self, wanted: &str) -> String {
        let wanted = if wanted.is_empty() { "value" } else { wanted };
        if self.is_free(wanted) {
            return wanted.to_owned();
        }
        let digits = wanted.ends_with(|end: char| end.is_ascii_digit());
        let between = if digits { "_" } else { "" };
        let numbered = |number: usize| format!("{wanted}{between}{number}");
        let mut numbers =
            self.numbers.remove(wanted).unwrap_or(Numbers { next: 2, released: BTreeSet::new() });
        let mut lowest = numbers.released.first().copied();
        while let Some(number) = lowest.filter(|&number| !self.is_free(&numbered(number))) {
            numbers.released.remove(&number);
            lowest = numbers.released.first().copied();
        }
        while lowest.is_none() && !self.is_free(&numbered(numbers.next)) {
            numbers.next += 1;
        }
        let name = numbered(lowest.unwrap_or(numbers.next));
        self.numbers.insert(wanted.to_owned(), numbers);
        name
    }

    /// Names a variable. Its use ends after the occurrence `last`, if given.
    pub fn name(&mut self, variable: Named, name: String, last: Option<usize>) {
        self.release(variable);
        let name: Rc<str> = name.into();
        let before = self.names.insert(variable, name.clone());
        self.log.push((variable, before));
        self.users.entry(name).or_default().insert(variable);
        if let Some(last) = last {
            self.end_at(variable, last);
        }
    }

    /// Ends the use of a variable after the occurrence `last`.
    pub fn end_at(&mut self, variable: Named, last: usize) {
        self.ends.entry(last).or_default().push(variable);
    }

    /// Ends the use of a variable.
    pub fn release(&mut self, variable: Named) {
        let Some(name) = self.names.get(&variable).cloned() else {
            return;
        };
        let Some(users) = self.users.get_mut(&name) else {
            return;
        };
        users.remove(&variable);
        if users.is_empty() {
            self.users.remove(&name);
            self.lower(&name);
        }
    }

    /// Ends the use of all variables whose last occurrence is before `occurrence`.
    pub fn release_before(&mut self, occurrence: usize) {
        while let Some(entry) = self.ends.first_entry().filter(|entry| *entry.key() < occurrence) {
            for variable in entry.remove() {
                self.release(variable);
            }
        }
    }

    /// Returns the state at the start of braces, for [`Taken::close`].
    pub fn open(&self) -> usize {
        self.log.len()
    }

    /// Restores the names that variables had at the start of braces.
    pub fn close(&mut self, opened: usize) {
        while self.log.len() > opened {
            let Some((variable, before)) = self.log.pop() else {
                return;
            };
            self.release(variable);
            match before {
                Some(before) => {
                    let users = self.users.entry(before.clone()).or_default();
                    users.insert(variable);
                    self.names.insert(variable, before);
                }
                None => _ = self.names.remove(&variable),
            }
        }
    }

    /// Records that the number of a released name can be reused.
    fn lower(&mut self, name: &str) {
        let stem = name.trim_end_matches(|end: char| end.is_ascii_digit());
        let digits = name.get(stem.len()..).unwrap_or_default();
        let number: Option<usize> = digits.parse().ok();
        let Some(number) = number else {
            return;
        };
        for stem in [Some(stem), stem.strip_suffix('_')].into_iter().flatten() {
            if let Some(numbers) = self.numbers.get_mut(stem)
                && (2..numbers.next).contains(&number)
            {
                numbers.released.insert(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Named = Named::Value(Variable(0));
    const B: Named = Named::Value(Variable(1));
    const C: Named = Named::Value(Variable(2));
    const D: Named = Named::Size(Size(0));

    #[test]
    fn the_lowest_free_number_is_given() {
        let mut taken = Taken::default();
        for (at, variable) in [A, B, C, D].into_iter().enumerate() {
            let name = taken.unused("x");
            taken.name(variable, name, Some(at));
        }
        let names: Vec<&str> = taken.names().values().map(|name| &**name).collect();
        assert_eq!(names, ["x", "x2", "x3", "x4"]);
        taken.release_before(2);
        assert_eq!(taken.unused("x"), "x");
        taken.name(A, "x".to_owned(), None);
        assert_eq!(taken.unused("x"), "x2");
    }

    #[test]
    fn numbers_stand_apart_from_digits() {
        let mut taken = Taken::default();
        taken.name(A, "x1".to_owned(), None);
        assert_eq!(taken.unused("x1"), "x1_2");
        taken.name(B, "x1_2".to_owned(), Some(0));
        assert_eq!(taken.unused("x1"), "x1_3");
        taken.release_before(1);
        assert_eq!(taken.unused("x1"), "x1_2");
    }

    #[test]
    fn names_end_with_their_braces() {
        let mut taken = Taken::default();
        taken.name(A, "x".to_owned(), None);
        let opened = taken.open();
        taken.name(B, "y".to_owned(), None);
        taken.close(opened);
        assert!(taken.is_free("y") && !taken.is_free("x"));
        assert_eq!(taken.names().len(), 1);
    }
}
