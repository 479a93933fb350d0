//! Numbers of values, and tables by them.

/// Index of a value in a [`Values`](super::Values) arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(super) u32);

impl ValueId {
    /// Returns the number that makes the value's variable unique in code.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A number for each of some values. Lookups take constant time, which counts in builds without optimization.
#[derive(Debug, Default)]
pub struct NumberedValues {
    /// The number of each value plus one, else zero.
    slots: Vec<u32>,
}

impl NumberedValues {
    /// Returns an empty table for an arena with this many values; values that are created later have no number.
    pub fn new(count: usize) -> Self {
        // The system provides zeros when they are first read, so that tables of small blocks cost little.
        NumberedValues { slots: vec![0; count] }
    }

    pub fn get(&self, id: ValueId) -> Option<usize> {
        let slot = *self.slots.get(id.0 as usize)?;
        slot.checked_sub(1).map(|number| number as usize)
    }

    /// Sets the number of a value and returns the previous one.
    pub fn set(&mut self, id: ValueId, number: usize) -> Option<usize> {
        let next = u32::try_from(number).ok().and_then(|number| number.checked_add(1));
        let slot = self.slots.get_mut(id.0 as usize)?;
        let before = std::mem::replace(slot, next.unwrap_or(0));
        before.checked_sub(1).map(|number| number as usize)
    }
}
