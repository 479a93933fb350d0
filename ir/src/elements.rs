//! Known elements, and the constants from which they are computed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::types::Known;
use crate::weight::Weight;

/// Known elements of a value. Reading them consults the constants of the file from which they were computed: the code
/// depends on the values of these constants. Copies share the elements.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    known: Option<Rc<Held>>,
    source: Option<Source>,
}

/// Elements, and the room that they take.
#[derive(Debug)]
struct Held {
    known: Known,
    bytes: usize,
    room: Room,
}

/// Number of bytes that further elements of a graph may take. A small file can compute elements without end.
#[derive(Clone, Debug)]
struct Room(Rc<Cell<usize>>);

/// Number of bytes that all known elements of a graph may take, except those that only the graph contains.
const ROOM: usize = 24 << 20;

/// The constants of the file from which known elements were computed.
#[derive(Clone, Debug)]
pub struct Source {
    table: Rc<Table>,
    at: usize,
}

/// Sources of all known elements of a graph.
#[derive(Clone, Debug, Default)]
pub struct Sources(Rc<Table>);

#[derive(Clone, Debug, Default)]
struct Table {
    room: Room,
    entries: RefCell<Vec<Entry>>,
    /// Indices of constants by file and offset of their first byte.
    constants: RefCell<BTreeMap<(usize, usize), usize>>,
    /// The entries that were consulted, in order.
    consulted: RefCell<Vec<usize>>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    /// Indices of the entries from which this one is computed. Empty for a constant.
    from: Vec<usize>,
    is_consulted: Cell<bool>,
}

impl Elements {
    /// Returns elements that are stored nowhere else. The limit of `ROOM` does not apply to them.
    pub fn only(known: Known, source: Option<Source>) -> Self {
        let held = Held { known, bytes: 0, room: Room::default() };
        Elements { known: Some(Rc::new(held)), source }
    }

    /// Returns the elements and consults their constants, because code depends on them.
    pub fn read(&self) -> Option<&Known> {
        if let (Some(_), Some(source)) = (&self.known, &self.source) {
            source.consult();
        }
        self.peek()
    }

    /// Returns the elements without consulting their constants. For printing, or if the caller calls [`Elements::read`]
    /// as soon as code depends on them.
    pub fn peek(&self) -> Option<&Known> {
        self.known.as_deref().map(|held| &held.known)
    }

    /// Returns the source of the elements, if they depend on constants of the file.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Replaces the sources by a copy of them.
    pub fn move_to(&mut self, copy: &Sources) {
        if let Some(source) = &mut self.source {
            source.table = copy.0.clone();
        }
    }

    pub fn is_some(&self) -> bool {
        self.known.is_some()
    }

    pub fn is_none(&self) -> bool {
        self.known.is_none()
    }
}

/// Elements that do not depend on constants of the file.
impl From<Known> for Elements {
    fn from(known: Known) -> Self {
        Elements::only(known, None)
    }
}

impl Default for Room {
    fn default() -> Self {
        Room(Rc::new(Cell::new(ROOM)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Room(left) = &self.room;
        left.set(left.get() + self.bytes);
    }
}

/// Compares elements, not their sources.
impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.peek() == other.peek()
    }
}

impl Source {
    fn consult(&self) {
        let entries = self.table.entries.borrow();
        let mut waiting = vec![self.at];
        while let Some(at) = waiting.pop() {
            let Some(entry) = entries.get(at) else {
                continue;
            };
            if !entry.is_consulted.replace(true) {
                self.table.consulted.borrow_mut().push(at);
                waiting.extend(&entry.from);
            }
        }
    }
}

impl Sources {
    /// Returns a copy in which constants are consulted independently.
    pub fn copy(&self) -> Self {
        Sources(Rc::new((*self.0).clone()))
    }

    /// Returns the elements of a constant, if they are few and of a type that the compiler computes with.
    pub fn constant(&self, weight: &Weight) -> Elements {
        let source = weight.start().map(|start| {
            let mut constants = self.0.constants.borrow_mut();
            let at = *constants.entry(start).or_insert_with(|| self.push(Vec::new()));
            self.source(at)
        });
        weight.known().map(|known| self.elements(known, source)).unwrap_or_default()
    }

    /// Returns elements, or none if the graph has no room for them.
    pub fn elements(&self, known: Known, source: Option<Source>) -> Elements {
        let bytes = known.bytes();
        let room = self.0.room.clone();
        match room.0.get().checked_sub(bytes) {
            Some(left) => {
                room.0.set(left);
                Elements { known: Some(Rc::new(Held { known, bytes, room })), source }
            }
            None => Elements::default(),
        }
    }

    /// Returns the source of elements that are computed from several sources.
    pub fn joined(&self, sources: &[Source]) -> Option<Source> {
        let mut from: Vec<usize> = sources.iter().map(|source| source.at).collect();
        from.sort_unstable();
        from.dedup();
        match from.as_slice() {
            [] => None,
            [at] => Some(self.source(*at)),
            _ => Some(self.source(self.push(from))),
        }
    }

    /// Returns `true` if the code depends on the elements of a constant.
    pub fn is_consulted(&self, weight: &Weight) -> bool {
        let constants = self.0.constants.borrow();
        let at = weight.start().and_then(|start| constants.get(&start));
        let entries = self.0.entries.borrow();
        let entry = at.and_then(|&at| entries.get(at));
        entry.is_some_and(|entry| entry.is_consulted.get())
    }

    /// Returns the number of consulted entries, for [`Sources::forget`].
    pub fn consulted(&self) -> usize {
        self.0.consulted.borrow().len()
    }

    /// Forgets the entries that were consulted since then, because the code does not depend on them.
    pub fn forget(&self, consulted: usize) {
        let entries = self.0.entries.borrow();
        let mut log = self.0.consulted.borrow_mut();
        let behind = consulted.min(log.len());
        for at in log.drain(behind..) {
            if let Some(entry) = entries.get(at) {
                entry.is_consulted.set(false);
            }
        }
    }

    fn push(&self, from: Vec<usize>) -> usize {
        let mut entries = self.0.entries.borrow_mut();
        entries.push(Entry { from, is_consulted: Cell::new(false) });
        entries.len() - 1
    }

    fn source(&self, at: usize) -> Source {
        Source { table: self.0.clone(), at }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::dtype::DType;
    use crate::weight::{ByteRange, Encoding};

    fn constant(start: usize) -> Weight {
        Weight {
            dtype: DType::U8,
            sizes: vec![1],
            encoding: Encoding::Raw,
            parts: vec![ByteRange { file: 0, start, bytes: Bytes::from_static(&[7]) }],
        }
    }

    #[test]
    fn what_is_read_was_computed_from_constants() {
        let sources = Sources::default();
        let [a, b, c] = [0, 1, 2].map(constant);
        let read: Vec<Source> =
            [&a, &b].iter().filter_map(|source| sources.constant(source).source().cloned()).collect();
        let sum = sources.elements(Known::Bools(vec![true]), sources.joined(&read));
        let _ = sources.constant(&c);
        sum.peek();
        assert!(!sources.is_consulted(&a));
        sum.read();
        assert_eq!([&a, &b, &c].map(|source| sources.is_consulted(source)), [true, true, false]);
    }

    #[test]
    fn what_was_consulted_for_nothing_is_forgotten() {
        let sources = Sources::default();
        let [a, b] = [0, 1].map(constant);
        sources.constant(&a).read();
        let consulted = sources.consulted();
        sources.constant(&a).read();
        sources.constant(&b).read();
        sources.forget(consulted);
        assert_eq!([&a, &b].map(|source| sources.is_consulted(source)), [true, false]);
    }

    #[test]
    fn elements_without_end_find_no_room() {
        let sources = Sources::default();
        let large = || sources.elements(Known::Bools(vec![true; ROOM / 2]), None);
        let (first, second) = (large(), large());
        assert!(first.is_some() && second.is_some() && large().is_none());
        let copy = first.clone();
        drop(first);
        assert!(large().is_none());
        drop(copy);
        assert!(large().is_some());
    }
}
