//! Divisions of rectangles into disjoint parts.

use std::ops::Range;

use crate::flex::threads::part as split;

/// Cuts of an axis into parts.
#[derive(Clone, Copy, Debug)]
pub enum Cuts<'a> {
    /// `groups` groups of `size` indices, each of which is cut after every `step`.
    Every { groups: usize, size: usize, step: usize },
    /// `groups` groups of `size` indices, each divided into `parts` parts of whole units of `unit` indices,
    /// whose numbers of units differ by at most one.
    Split { groups: usize, size: usize, unit: usize, parts: usize },
    /// Parts that end at these indices, which ascend. The last one is the size of the axis.
    Ends(&'a [usize]),
}

/// The order in which parts are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// All parts of some rows, then those of the next ones.
    RowMajor,
    /// All parts of some columns, then those of the next ones.
    ColumnMajor,
}

/// A division of a rectangle.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    pub rows: Cuts<'a>,
    pub columns: Cuts<'a>,
    pub order: Order,
}

/// A part of a rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl<'a> Cuts<'a> {
    /// An axis that is not cut.
    pub fn none(size: usize) -> Self {
        Self::every(size, size.max(1))
    }

    /// Parts of `step` indices, the last one shorter.
    pub fn every(size: usize, step: usize) -> Self {
        Self::Every { groups: 1, size, step }
    }

    /// `parts` parts of whole units, of about equal size.
    pub fn split(size: usize, unit: usize, parts: usize) -> Self {
        Self::Split { groups: 1, size, unit, parts }
    }

    /// Number of parts.
    pub fn count(self) -> usize {
        match self {
            // Divisions take longer than the smallest kernels.
            Self::Every { groups, size, step } if size <= step => groups * usize::from(size > 0),
            Self::Every { groups, size, step } => groups * size.div_ceil(step),
            Self::Split { groups, parts, .. } => groups * parts,
            Self::Ends(ends) => ends.len(),
        }
    }

    fn size(self) -> Option<usize> {
        match self {
            Self::Every { groups, size, .. } | Self::Split { groups, size, .. } => groups.checked_mul(size),
            Self::Ends(ends) => Some(ends.last().copied().unwrap_or(0)),
        }
    }

    fn part(self, index: usize) -> Range<usize> {
        match self {
            Self::Every { groups: 1, size, step } => index * step..size.min(index * step + step),
            Self::Every { size, step, .. } => {
                let parts = size.div_ceil(step);
                let (first, start) = (index / parts * size, index % parts * step);
                first + start..first + size.min(start + step)
            }
            Self::Split { groups: 1, size, parts: 1, .. } => 0..size,
            Self::Split { size, unit, parts, .. } => {
                let first = index / parts * size;
                let units = split(size.div_ceil(unit), parts, index % parts);
                first + size.min(units.start * unit)..first + size.min(units.end * unit)
            }
            Self::Ends(ends) => {
                let start = if index == 0 { 0 } else { ends[index - 1] };
                start..ends[index]
            }
        }
    }

    /// Returns true if the parts are disjoint and cover an axis, and their number fits the memory.
    fn are_of(self, size: usize) -> bool {
        let is_division = match self {
            Self::Every { step, .. } => step > 0,
            Self::Split { groups, unit, parts, .. } => {
                unit > 0 && parts > 0 && groups.checked_mul(parts).is_some()
            }
            Self::Ends(ends) => ends.is_sorted(),
        };
        is_division && self.size() == Some(size)
    }
}

impl<'a> Grid<'a> {
    /// Parts of one row.
    pub fn of_row(columns: Cuts<'a>) -> Self {
        Self { rows: Cuts::none(1), columns, order: Order::RowMajor }
    }

    /// Parts of whole rows.
    pub fn of_rows(rows: Cuts<'a>, columns: usize) -> Self {
        Self { rows, columns: Cuts::none(columns), order: Order::RowMajor }
    }

    /// Calls a function with the index and the rectangle of each of some parts, in order.
    #[inline]
    pub(super) fn each(&self, parts: Range<usize>, mut run: impl FnMut(usize, Spot)) {
        let (outer, inner) = match self.order {
            Order::RowMajor => (self.rows, self.columns),
            Order::ColumnMajor => (self.columns, self.rows),
        };
        let count = inner.count();
        let mut index = parts.start;
        while index < parts.end {
            let (number, first) = if index < count { (0, index) } else { (index / count, index % count) };
            let outer = outer.part(number);
            let end = count.min(first + parts.end - index);
            for inner in (first..end).map(|part| inner.part(part)) {
                let (rows, columns) = match self.order {
                    Order::RowMajor => (outer.clone(), inner),
                    Order::ColumnMajor => (inner, outer.clone()),
                };
                run(index, Spot { rows, columns });
                index += 1;
            }
        }
    }

    /// Returns the number of parts, which are disjoint and cover a rectangle.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub(super) fn checked_count(&self, rows: usize, columns: usize) -> usize {
        assert!(self.rows.are_of(rows) && self.columns.are_of(columns));
        match self.rows.count().checked_mul(self.columns.count()) {
            Some(count) => count,
            None => panic!("too many parts"),
        }
    }
}
