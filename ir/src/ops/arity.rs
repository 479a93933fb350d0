//! Inputs and outputs of an operator.

/// Formal inputs or outputs, a sign for each: `r` required, `o` optional, and last `+` for one or more or `*` for any
/// number of them. `schemas.txt` of the conformance tests has the signs of every operator of the standard.
pub type Signs = &'static str;

/// Formal inputs and outputs of one version of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    pub inputs: Signs,
    pub outputs: Signs,
}

/// Largest number of inputs or outputs that a node may name; `None` if there is no limit.
pub fn most(signs: Signs) -> Option<usize> {
    (!signs.ends_with(['+', '*'])).then_some(signs.len())
}

/// Smallest number of inputs or outputs that a node must name.
pub fn least(signs: Signs) -> usize {
    match signs.find('*') {
        // As in the standard, the optional ones before `*` count, although their names may be empty.
        Some(at) => at,
        None => signs.rfind(['r', '+']).map_or(0, |at| at + 1),
    }
}

/// Returns `true` if the name at this position must not be empty.
pub fn is_required(signs: Signs, at: usize) -> bool {
    signs.as_bytes().get(at) == Some(&b'r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_give_the_bounds() {
        let bounds = ["", "r", "rro", "roro", "oo*", "rr+", "ooo"].map(|signs| (least(signs), most(signs)));
        let expected =
            [(0, Some(0)), (1, Some(1)), (2, Some(3)), (3, Some(4)), (2, None), (3, None), (0, Some(3))];
        assert_eq!(bounds, expected);
    }
}
