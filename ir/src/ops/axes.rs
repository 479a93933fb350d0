//! Axes counted from the end.

use crate::diagnostics::Problem;

/// Returns the index of an axis; negative axes count from the end.
pub fn axis(axis: i64, rank: usize) -> Result<usize, Problem> {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let at = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
    at.and_then(|at| usize::try_from(at).ok())
        .filter(|&at| at < rank)
        .ok_or_else(|| Problem::new(format!("axis {axis} is out of bounds for a tensor of rank {rank}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!(axis(-1, 3).ok(), Some(2));
        assert_eq!(axis(0, 3).ok(), Some(0));
        assert!(axis(3, 3).is_err() && axis(-4, 3).is_err() && axis(i64::MIN, 1).is_err());
    }
}
