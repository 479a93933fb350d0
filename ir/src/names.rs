//! Names for sizes that are known only at run time.

use std::collections::{BTreeMap, BTreeSet};

use crate::dim::{Dim, Symbol};
use crate::types::Type;

/// Names for sizes that are known only at run time.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Each name, with the number of changes before it was reserved.
    reserved: BTreeMap<Symbol, usize>,
    /// The last number that was appended to a hint.
    counts: BTreeMap<Symbol, usize>,
    /// Sizes that are assumed to differ from 1 because a rank depends on it.
    doubted: BTreeSet<Symbol>,
    /// All changes in order, so that the last ones can be undone.
    changes: Vec<Change>,
    /// Number of changes when the inputs of the model had their sizes.
    inputs: usize,
    pub(crate) work: Work,
}

/// A point in time to which names can be rewound.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

#[derive(Clone, Debug)]
enum Change {
    Reserved(Symbol),
    /// The previous count of the hint.
    Counted(Symbol, Option<usize>),
    Doubted(Symbol),
}

/// Work of repeated inference inside nested loops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Number of nested loops that are being inferred.
    pub depth: usize,
    /// Number of nodes that were inferred in blocks of nested loops.
    pub nodes: usize,
}

impl Names {
    /// Reserves a name of the file.
    pub fn reserve(&mut self, name: &Symbol) {
        self.take(name);
    }

    /// Returns `true` if a name is reserved.
    pub fn is_reserved(&self, name: &Symbol) -> bool {
        self.reserved.contains_key(name)
    }

    /// Records that the names so far are those of the inputs' sizes.
    pub fn end_inputs(&mut self) {
        self.inputs = self.changes.len();
    }

    /// Returns `true` if an input of the model has a size with this name.
    pub fn is_of_input(&self, name: &Symbol) -> bool {
        self.was_reserved_at(Mark(self.inputs), name)
    }

    /// Returns a mark of the current time.
    pub fn mark(&self) -> Mark {
        Mark(self.changes.len())
    }

    /// Returns `true` if a name was reserved at the time of the mark.
    pub fn was_reserved_at(&self, mark: Mark, name: &Symbol) -> bool {
        self.reserved.get(name).is_some_and(|&since| since < mark.0)
    }

    /// Releases the names that were reserved since the mark, except for some, and all that was recorded about them.
    pub fn rewind(&mut self, mark: Mark, kept: &BTreeSet<Symbol>) {
        while self.changes.len() > mark.0 {
            match self.changes.pop() {
                Some(Change::Reserved(name)) => _ = self.reserved.remove(&name),
                Some(Change::Counted(hint, Some(count))) => _ = self.counts.insert(hint, count),
                Some(Change::Counted(hint, None)) => _ = self.counts.remove(&hint),
                Some(Change::Doubted(name)) => _ = self.doubted.remove(&name),
                None => {}
            }
        }
        kept.iter().for_each(|name| self.reserve(name));
    }

    /// Returns the sizes that are assumed to differ from 1 because a rank depends on it.
    pub fn doubted(&self) -> impl Iterator<Item = &Symbol> {
        self.doubted.iter()
    }

    /// Records that these sizes are assumed to differ from 1.
    pub fn doubt(&mut self, names: impl IntoIterator<Item = Symbol>) {
        for name in names {
            if self.doubted.insert(name.clone()) {
                self.changes.push(Change::Doubted(name));
            }
        }
    }

    /// Returns a new name that begins with `hint`.
    pub fn fresh(&mut self, hint: &str) -> Dim {
        let hint = Symbol::from(hint);
        let before = self.counts.get(&hint).copied();
        let mut count = before.unwrap_or(1);
        let mut name = hint.clone();
        while !self.take(&name) {
            count += 1;
            name = format!("{hint}_{count}").into();
        }
        if before != Some(count) {
            self.counts.insert(hint.clone(), count);
            self.changes.push(Change::Counted(hint, before));
        }
        Dim::named(name)
    }

    /// Returns the type outside a block that begins at `mark`. The types of containers do not specify sizes that are
    /// named inside.
    pub fn outside(&self, mark: Mark, ty: &Type, inside: Option<&Symbol>) -> Type {
        match ty {
            Type::Tensor(_) => ty.clone(),
            other => other.loosened(&mut |name| self.was_reserved_at(mark, name) && Some(name) != inside),
        }
    }

    /// Reserves a name. Returns `false` if it is reserved already.
    fn take(&mut self, name: &Symbol) -> bool {
        if self.reserved.contains_key(name) {
            return false;
        }
        self.reserved.insert(name.clone(), self.changes.len());
        self.changes.push(Change::Reserved(name.clone()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_reserved_since_a_mark_are_freed() {
        let mut names = Names::default();
        names.fresh("n");
        let mark = names.mark();
        let kept = names.fresh("n");
        names.fresh("n");
        names.doubt(["n".into()]);
        names.rewind(mark, &kept.symbols().into_iter().collect());
        assert!(names.is_reserved(&"n_2".into()) && !names.is_reserved(&"n_3".into()));
        assert!(names.was_reserved_at(mark, &"n".into()) && !names.was_reserved_at(mark, &"n_2".into()));
        assert_eq!(names.doubted().count(), 0);
        assert_eq!(names.fresh("n"), Dim::named("n_3"));
    }
}
