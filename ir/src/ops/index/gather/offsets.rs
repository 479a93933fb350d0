//! Offsets of the elements at known indices.

use crate::ops::broadcast;

/// Consecutive indices.
pub(super) struct Run {
    pub start: usize,
    pub length: usize,
}

impl Run {
    pub fn of(indices: &[i64], size: Option<usize>) -> Option<Run> {
        let normalized = |&index: &i64| {
            if index < 0 {
                size?.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
            } else {
                usize::try_from(index).ok()
            }
        };
        let start = indices.first().and_then(normalized)?;
        let follow = |(at, index)| normalized(index) == Some(start + at);
        let run = indices.iter().enumerate().all(follow);
        run.then_some(Run { start, length: indices.len() })
    }
}

/// Returns the offsets of the elements at indices along an axis.
pub(super) fn offsets(from: &[usize], axis: usize, indices: &[i64]) -> Option<Vec<usize>> {
    let size = *from.get(axis)?;
    let outer = from.iter().take(axis).product::<usize>();
    let inner = from.iter().skip(axis + 1).product::<usize>();
    if outer > broadcast::MAX_KNOWN_ELEMENTS {
        return None;
    }
    let mut offsets = Vec::new();
    for row in 0..outer {
        for &index in indices {
            let index = if index < 0 { index.checked_add(i64::try_from(size).ok()?)? } else { index };
            let index = usize::try_from(index).ok().filter(|&index| index < size)?;
            let start = (row * size + index) * inner;
            offsets.extend(start..start + inner);
        }
        if offsets.len() > broadcast::MAX_KNOWN_ELEMENTS {
            return None;
        }
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_that_follow_one_another_are_a_run() {
        let run = |indices: &[i64]| Run::of(indices, Some(5)).map(|run| (run.start, run.length));
        assert_eq!(run(&[1, 2, 3]), Some((1, 3)));
        assert_eq!(run(&[3, -1]), Some((3, 2)));
        assert_eq!(run(&[2, 1]), None);
        assert_eq!(run(&[]), None);
    }
}
