//! Positions of the rows of an operand B.

/// Offsets of the rows of an operand B, one for each k, in elements from the first row.
///
/// A table instead of a stride lets one kernel read packed panels, matrices in place and the taps of a convolution.
#[derive(Clone, Debug, Default)]
pub struct RowOffsets {
    offsets: Vec<u32>,
    furthest: usize,
}

/// Rows of an operand B that have all elements that a kernel reads.
pub struct RowGroup<'a, T, const N: usize> {
    offsets: &'a [u32; N],
    values: &'a [T],
    columns: usize,
}

impl RowOffsets {
    /// Returns `None` if an offset exceeds 32 bits.
    pub fn new(offsets: impl Iterator<Item = usize>) -> Option<Self> {
        // Collecting options would enlarge the vector step by step.
        let mut found = Vec::with_capacity(offsets.size_hint().0);
        for at in offsets {
            found.push(u32::try_from(at).ok()?);
        }
        let offsets = found;
        let furthest = offsets.iter().copied().max().unwrap_or(0) as usize;
        Some(Self { offsets, furthest })
    }

    /// `count` rows that are `step` elements apart.
    pub fn even(count: usize, step: usize) -> Option<Self> {
        Self::new((0..count).map(|at| at * step))
    }

    /// Rows of a packed panel.
    ///
    /// # Panics
    ///
    /// If the panel has more than 2^32 elements: 16 GiB.
    pub fn of_panel(count: usize, width: usize) -> Self {
        match Self::even(count, width) {
            Some(offsets) => offsets,
            None => panic!("a panel of {count} rows is too long"),
        }
    }

    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    pub fn furthest(&self) -> usize {
        self.furthest
    }

    /// The first `columns` elements of the first `N` rows.
    ///
    /// # Panics
    ///
    /// If there are fewer rows, or a row has fewer elements.
    #[inline(always)]
    pub fn first_rows<'a, T, const N: usize>(
        &'a self,
        values: &'a [T],
        columns: usize,
    ) -> RowGroup<'a, T, N> {
        match self.groups(values, columns).0.next() {
            Some(rows) => rows,
            None => panic!("a matrix has fewer rows than its kernel"),
        }
    }

    /// The first `columns` elements of all rows: `N` rows at a time, and the rows that are left.
    ///
    /// # Panics
    ///
    /// If a row has fewer elements.
    #[inline(always)]
    pub fn groups<'a, T, const N: usize>(
        &'a self,
        values: &'a [T],
        columns: usize,
    ) -> (impl Iterator<Item = RowGroup<'a, T, N>>, impl Iterator<Item = &'a [T]>) {
        let end = self.furthest.checked_add(columns);
        assert!(self.offsets.is_empty() || end.is_some_and(|end| end <= values.len()));
        let (groups, rest) = self.offsets.as_chunks::<N>();
        let groups = groups.iter().map(
            #[inline(always)]
            move |offsets| RowGroup { offsets, values, columns },
        );
        let rest = rest.as_chunks::<1>().0.iter().map(
            #[inline(always)]
            move |offsets| RowGroup { offsets, values, columns }.row(0),
        );
        (groups, rest)
    }
}

/// Rows of `columns` elements, `step` elements apart, of several matrices at once.
///
/// # Panics
///
/// If the last row of a matrix has fewer elements.
#[inline(always)]
pub fn even_rows<T, const N: usize>(
    matrices: [&[T]; N],
    count: usize,
    step: usize,
    columns: usize,
) -> impl ExactSizeIterator<Item = [&[T]; N]> {
    let last = count.saturating_sub(1).checked_mul(step);
    let end = last.and_then(|last| last.checked_add(columns));
    assert!(count == 0 || matrices.iter().all(|values| end.is_some_and(|end| end <= values.len())));
    (0..count).map(
        #[inline(always)]
        move |at| {
            matrices.map(
                #[inline(always)]
                |values| {
                    // SAFETY: the last row ends within the values, as was checked, and no row ends after the last one.
                    unsafe { values.get_unchecked(at * step..at * step + columns) }
                },
            )
        },
    )
}

impl<'a, T, const N: usize> RowGroup<'a, T, N> {
    /// The elements of a row.
    ///
    /// A check of each row would keep the compiler from holding the accumulators of a tile in registers.
    #[inline(always)]
    pub fn row(&self, at: usize) -> &'a [T] {
        let offset = self.offsets[at] as usize;
        // SAFETY: only `RowOffsets::groups` makes a group, of offsets for which it has found enough elements.
        unsafe { self.values.get_unchecked(offset..offset + self.columns) }
    }
}
