//! Corrections of sums of products for zero points.

use super::per_axis::PerAxis;
use crate::flex::simd::DotInstructions;
use crate::flex::tile::{ByteEpilogue, Conversion};

/// Zero points of both operands. At most one operand has several.
pub enum Zeros {
    One([i32; 2]),
    /// One for each row, and one of the right side.
    OfRows(Vec<i32>, i32),
    /// One of the left side, and one for each column of the tiles.
    OfColumns(i32, Vec<i32>),
}

/// Addends of sums by rows and columns.
#[derive(Default)]
pub struct Corrections {
    rows: Option<Vec<i32>>,
    columns: Option<Vec<i32>>,
    products: Option<[Vec<i32>; 2]>,
}

impl Zeros {
    /// Returns `None` if both operands have several, or one has some along the depth.
    pub fn of(left: PerAxis<i32>, right: PerAxis<i32>) -> Option<Self> {
        match (left, right) {
            (PerAxis::One(left), PerAxis::One(right)) => Some(Self::One([left, right])),
            (PerAxis::Rows(left), PerAxis::One(right)) => Some(Self::OfRows(left, right)),
            (PerAxis::One(left), PerAxis::Columns(right)) => Some(Self::OfColumns(left, right)),
            _ => None,
        }
    }

    /// Zero points of A as signed bytes, and of B as the bytes that instructions take.
    pub fn shifted(self, dot: DotInstructions, [left_signed, right_signed]: [bool; 2]) -> Self {
        let left_shift = if left_signed { 0 } else { -128 };
        let right_shift = dot.shift(right_signed);
        let left_of = |zero: i32| zero.wrapping_add(left_shift);
        let right_of = |zero: i32| zero.wrapping_add(right_shift);
        match self {
            Self::One([left, right]) => Self::One([left_of(left), right_of(right)]),
            Self::OfRows(left, right) => {
                Self::OfRows(left.into_iter().map(left_of).collect(), right_of(right))
            }
            Self::OfColumns(left, right) => {
                Self::OfColumns(left_of(left), right.into_iter().map(right_of).collect())
            }
        }
    }
}

impl Corrections {
    /// Corrections of a product of depth `inner` whose rows and columns have these sums, and a bias.
    pub fn new(zeros: &Zeros, sums: [&[i32]; 2], inner: usize, bias: &PerAxis<i32>) -> Self {
        let [row_sums, column_sums] = sums;
        let inner = inner as i32;
        let mut all = Self::default();
        // (a - p) (b - q) = a b - q a + p (n q - b), in sums.
        let seen = |zero: i32, sum: i32| inner.wrapping_mul(zero).wrapping_sub(sum);
        let rows = |zero: i32| {
            let rows = row_sums.iter();
            (zero != 0).then(|| rows.map(|sum| sum.wrapping_mul(zero.wrapping_neg())).collect())
        };
        match zeros {
            Zeros::One([left, right]) => {
                all.rows = rows(*right);
                let columns = column_sums.iter();
                let column = |sum: &i32| left.wrapping_mul(seen(*right, *sum));
                all.columns = (*left != 0).then(|| columns.map(column).collect());
            }
            Zeros::OfRows(left, right) => {
                all.rows = rows(*right);
                let columns = column_sums.iter().map(|sum| seen(*right, *sum));
                all.products = Some([left.clone(), columns.collect()]);
            }
            Zeros::OfColumns(left, right) => {
                let columns = column_sums.iter().zip(right);
                let columns = columns.map(|(sum, right)| left.wrapping_mul(seen(*right, *sum)));
                all.columns = (*left != 0).then(|| columns.collect());
                let negative = row_sums.iter().map(|sum| sum.wrapping_neg()).collect();
                all.products = Some([negative, right.clone()]);
            }
        }
        match bias {
            PerAxis::One(0) => {}
            PerAxis::One(bias) => add(&mut all.columns, vec![*bias; column_sums.len()]),
            PerAxis::Rows(bias) => add(&mut all.rows, bias.clone()),
            PerAxis::Columns(bias) => add(&mut all.columns, bias.clone()),
        }
        all
    }

    /// The epilogue that adds them and converts the sums.
    pub fn epilogue<'a>(&'a self, conversion: Conversion<'a>) -> ByteEpilogue<'a> {
        ByteEpilogue {
            rows: self.rows.as_deref(),
            columns: self.columns.as_deref(),
            products: self.products.as_ref().map(|[a, b]| [&a[..], &b[..]]),
            conversion,
        }
    }
}

fn add(all: &mut Option<Vec<i32>>, more: Vec<i32>) {
    match all {
        None => *all = Some(more),
        Some(all) => {
            for (all, more) in all.iter_mut().zip(more) {
                *all = all.wrapping_add(more);
            }
        }
    }
}
