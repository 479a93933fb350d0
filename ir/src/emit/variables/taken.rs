//! Which names variables have, and until where.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::rust::{Size, Variable};

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    Value(Variable),
    Size(Size),
}

/// Names of variables. A name is free again behind the last use of its variable, and names inside of braces
/// end with them.
#[derive(Debug, Default)]
pub struct Taken {
    names: BTreeMap<Named, Rc<str>>,
    /// Names that nothing may shadow.
    fixed: BTreeSet<String>,
    /// The variables in use of each name.
    users: BTreeMap<Rc<str>, BTreeSet<Named>>,
    /// Variables in use by the place where each occurs last.
    ends: BTreeMap<usize, Vec<Named>>,
    /// Numbers behind each name.
    numbers: BTreeMap<String, Numbers>,
    /// What was named, and the name that it had before, so that braces can end.
    log: Vec<(Named, Option<Rc<str>>)>,
}

/// The numbers behind one name.
#[derive(Debug)]
struct Numbers {
    /// From here on none was looked at.
    next: usize,
    /// Those before it that were released, of which some may be in use again.
    released: BTreeSet<usize>,
}

impl Taken {
    /// The names of all variables, those no longer in use included.
    pub fn names(&self) -> &BTreeMap<Named, Rc<str>> {
        &self.names
    }

    /// Reserves a name.
    pub fn fix(&mut self, name: &str) {
        self.fixed.insert(name.to_owned());
    }

    /// Whether no variable in use has the name.
    pub fn is_free(&self, name: &str) -> bool {
        let used = self.users.get(name).is_some_and(|users| !users.is_empty());
        !used && !self.fixed.contains(name)
    }

    /// `wanted`, or `wanted` with the lowest number that is free.
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

    /// Names a variable that occurs last at `last`, or that stays in use.
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

    /// Has a variable that is in use end behind `last`.
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

    /// Ends the use of all variables that occur last before `place`.
    pub fn release_before(&mut self, place: usize) {
        while let Some(entry) = self.ends.first_entry().filter(|entry| *entry.key() < place) {
            for variable in entry.remove() {
                self.release(variable);
            }
        }
    }

    /// The beginning of what braces hold.
    pub fn open(&self) -> usize {
        self.log.len()
    }

    /// Their end: variables have the names that they had before.
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

    /// The number behind a name that is free now may be the lowest.
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
