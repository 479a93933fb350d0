//! Facts about a value with several producers.

use std::collections::BTreeSet;

use super::counter;
use crate::diagnostics::{Problem, Topic};
use crate::dim::{Dim, Symbol};
use crate::elements::Elements;
use crate::infer::{Fact, Infer};
use crate::names::Mark;
use crate::types::{TensorType, Type};

/// Returns the facts that hold for both values. Each size in which they differ becomes a new symbol.
pub fn either(cx: &mut Infer<'_>, what: &str, left: &Fact, right: &Fact) -> Result<Fact, Problem> {
    let mut merged = left.clone();
    merged.ty = types(what, &left.ty, &right.ty, &mut |a, b| {
        if a == b { a.clone() } else { cx.fresh("branch") }
    })?;
    if left.known != right.known || left.ty != right.ty {
        merged.known = Elements::default();
    } else if left.weight != right.weight {
        // Their equality depends on the elements of both.
        left.known.read();
        right.known.read();
    }
    if left.weight != right.weight {
        merged.weight = None;
    }
    Ok(merged)
}

/// Widens the facts about a value in iteration `index` so that they also hold for `next`, its value in the following
/// iteration. The sizes in `free` are not restricted. Returns `true` if the facts changed.
pub fn widen(
    cx: &mut Infer<'_>,
    what: &str,
    fact: &mut Fact,
    next: &Fact,
    (index, free): (Option<&Symbol>, &mut BTreeSet<Symbol>),
) -> Result<bool, Problem> {
    let next = &Fact { ty: next_state(&fact.ty, &next.ty), ..next.clone() };
    let ty = types(what, &fact.ty, &next.ty, &mut |a, b| {
        if a == b || a.name().is_some_and(|name| free.contains(name)) {
            return a.clone();
        }
        freed(cx, free)
    })?;
    let mut changed = ty != fact.ty;
    fact.ty = ty;
    let known = counter::settled(fact.known.peek(), next.known.peek(), index);
    if known.is_some() {
        fact.known.read();
        next.known.read();
    }
    if fact.weight != next.weight || known.as_ref() != fact.known.peek() {
        changed |= fact.known.is_some() || fact.weight.is_some();
        fact.known = cx.elements(known);
        fact.weight = None;
    }
    Ok(changed)
}

/// Returns the type of the next state. One element keeps the rank that it has in the state.
fn next_state(state: &Type, next: &Type) -> Type {
    if is_one_of_another_rank(state, next) { state.clone() } else { next.clone() }
}

/// Returns the type of the state after the loop, if any iteration runs. One element gets the rank that an iteration
/// gives it.
pub fn final_type(state: Type, next: Option<&Type>) -> Type {
    match next {
        Some(next) if is_one_of_another_rank(&state, next) => next.clone(),
        _ => state,
    }
}

/// Returns `true` if both types have one element, but different ranks.
pub fn is_one_of_another_rank(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Tensor(one), Type::Tensor(other)) => {
            let single = one.count() == Some(1) && other.count() == Some(1);
            single && one.rank() != other.rank() && one.dtype == other.dtype
        }
        _ => false,
    }
}

/// Gives each size of a loop's state a new symbol.
pub fn generalize(cx: &mut Infer<'_>, fact: &mut Fact, free: &mut BTreeSet<Symbol>) {
    let ty = sized(&fact.ty, &mut |_| freed(cx, free));
    *fact = Fact::of(ty.loosened(&mut |name| free.contains(name)));
}

/// Returns the type outside a body to which the names reserved since `names` are local.
pub fn outside(cx: &mut Infer<'_>, fact: &Fact, names: Mark, hint: &str) -> Type {
    let ty = cx.type_outside(&fact.ty, names, None);
    sized(&ty, &mut |dim| cx.outside(dim, names, hint))
}

/// Replaces the sizes of a tensor's type. Other types remain unchanged.
fn sized(ty: &Type, size: &mut impl FnMut(&Dim) -> Dim) -> Type {
    match ty {
        Type::Tensor(tensor) => {
            let shape = tensor.shape.iter().map(size).collect();
            Type::tensor(tensor.dtype, shape)
        }
        other => other.clone(),
    }
}

fn freed(cx: &mut Infer<'_>, free: &mut BTreeSet<Symbol>) -> Dim {
    let dim = cx.fresh("state");
    free.extend(dim.name().cloned());
    dim
}

/// Merges two types that must be equal except for their sizes, which `size` merges.
fn types(
    what: &str,
    left: &Type,
    right: &Type,
    size: &mut impl FnMut(&Dim, &Dim) -> Dim,
) -> Result<Type, Problem> {
    match (left, right) {
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype != b.dtype => {
            Err(Problem::new(format!("{what} is {a} or {b}, expected a single type")))
        }
        (Type::Tensor(a), Type::Tensor(b)) if a.rank() != b.rank() => Err(ranks(what, a, b)),
        (Type::Tensor(a), Type::Tensor(b)) => {
            let shape = a.shape.iter().zip(&b.shape);
            let shape = shape.map(|(a, b)| size(a, b)).collect();
            Ok(Type::tensor(a.dtype, shape))
        }
        _ => left
            .either(right)
            .ok_or_else(|| Problem::new(format!("{what} is {left} or {right}, expected a single type"))),
    }
}

fn ranks(what: &str, a: &TensorType, b: &TensorType) -> Problem {
    Problem::new(format!("{what} is {a} or {b}, expected a rank that is known at compile time"))
        .help("fix the sizes that determine the rank with `dims(..)` or `inputs(..)`")
        .about(Topic::Shape)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn sizes_that_differ_get_a_name() {
        check(
            r#"g (bool c, float[2, n] a, float[2, 5] b) => (float[x, y] y) { y = If (c) <then_branch = t () => (float[x, y] u) { u = Neg (a) }, else_branch = e () => (float[x, y] v) { v = Neg (b) }> }"#,
            expect![[r#"
                g (host bool[] c, float32[2, n] a, float32[2, 5] b) => (float32[2, branch] y)
                {
                    float32[2, branch] y = If (c)
                        then_branch () => (float32[2, n] u)
                        {
                            float32[2, n] u = Neg (a)
                        }
                        else_branch () => (float32[2, 5] v)
                        {
                            float32[2, 5] v = Neg (b)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_state_that_grows_has_any_size() {
        check(
            r#"g (int64 count, float[1] x) => (float[n] y) { t = Constant <value = bool {1}> () y = Loop (count, t, x) <body = inner (int64 i, bool c, float[n] s) => (bool d, float[n] r) { d = Identity (c) r = Concat <axis = 0> (s, s) }> }"#,
            expect![[r#"
                g (host int64[] count, float32[1] x) => (float32[state_2] y)
                <
                    bool[] t = {true}
                >
                {
                    float32[state_2] y = Loop (count, t, x)
                        body (int64[] i, bool[] c, float32[state] s) => (bool[] c, float32[2*state] r)
                        {
                            float32[2*state] r = Concat <axis: 0> (s, s)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn types_that_differ_are_refused() {
        problems(
            &[
                r#"(bool c, float[2, n] a, int32[2, 5] b) => (float[x, y] y) { y = If (c) <then_branch = t () => (float[x, y] u) { u = Neg (a) }, else_branch = e () => (int32[x, y] v) { v = Neg (b) }> }"#,
                r#"(bool c, float[2, n] a, float[2, 5, 1] b) => (float[x, y] y) { y = If (c) <then_branch = t () => (float[x, y] u) { u = Neg (a) }, else_branch = e () => (float[x, y, z] v) { v = Neg (b) }> }"#,
                r#"(int64 count, float[1] x) => (float[n] y) { t = Constant <value = bool {1}> () y = Loop (count, t, x) <body = inner (int64 i, bool c, float[n] s) => (bool d, int32[n] r) { d = Identity (c) r = Cast <to = 6> (s) }> }"#,
            ],
            expect![[r#"
                output 0 is float32[2, n] or int32[2, 5], expected a single type
                fine
                loop state variable 0 is float32[1] or int32[1], expected a single type
            "#]],
        );
    }
}
