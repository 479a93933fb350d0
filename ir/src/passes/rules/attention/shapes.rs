//! Shapes that broadcast if axes are merged or split.

use crate::dim::Dim;

/// Returns the shape in which a tensor with `sizes`, which broadcasts to `from`, broadcasts to `to`. The order of the
/// elements does not change.
pub fn regrouped(sizes: &[Dim], from: &[Dim], to: &[Dim]) -> Option<Vec<Dim>> {
    if from.is_empty() && to.is_empty() {
        return Some(Vec::new());
    }
    // The fewest axes of both whose numbers of elements are equal.
    let most = from.len().max(to.len());
    let mut ways = (2..=most.saturating_mul(2)).flat_map(|both| (1..both).map(move |a| (a, both - a)));
    ways.find_map(|(a, b)| {
        let (group, rest) = from.split_at_checked(a)?;
        let (target, others) = to.split_at_checked(b)?;
        if Dim::product(group)? != Dim::product(target)? {
            return None;
        }
        let (own, more) = sizes.split_at_checked(a)?;
        let whole = own.iter().zip(group).all(|(own, size)| own == size);
        let mut shape = match (whole, own.iter().all(|size| size.is(1))) {
            (true, _) => target.to_vec(),
            (_, true) => vec![Dim::from(1); b],
            _ => return None,
        };
        shape.extend(regrouped(more, rest, others)?);
        Some(shape)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: &[i64], from: &[i64], to: &[i64], expected: Option<&[i64]>) {
        let dims = |all: &[i64]| all.iter().copied().map(Dim::from).collect::<Vec<_>>();
        let found = regrouped(&dims(shape), &dims(from), &dims(to));
        assert_eq!(found, expected.map(dims));
    }

    #[test]
    fn axes_are_merged_and_split() {
        check(&[1, 6, 1, 5], &[1, 6, 4, 5], &[6, 4, 5], Some(&[6, 1, 5]));
        check(&[1, 1, 5], &[6, 4, 5], &[2, 3, 4, 5], Some(&[1, 1, 1, 5]));
        check(&[6, 4, 5], &[6, 4, 5], &[2, 3, 4, 5], Some(&[2, 3, 4, 5]));
        check(&[2, 1], &[2, 3], &[2, 3, 1], Some(&[2, 1, 1]));
        check(&[2, 1, 4], &[2, 3, 4], &[6, 4], None);
        check(&[2, 3, 4], &[2, 3, 4], &[5, 4], None);
    }
}
