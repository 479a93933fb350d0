//! Sequences of transposes, reshapes and casts, shortened.

use std::collections::BTreeSet;

use crate::dim::{Dim, Symbol};
use crate::dtype::{DType, ElementClass};
use crate::graph::{Node, ValueId};
use crate::passes::rewrite::{Match, Miss, Rule, building, rule};
use crate::proto::Setting;

pub const RULES: &[Rule] = &[
    building("transposes", "Transpose:outer(Transpose:inner(x))", |m| {
        let (inner, outer) = (m.axes("inner")?, m.axes("outer")?);
        let axes = outer.iter().map(|&at| inner.get(at).map(|&axis| axis as i64));
        let axes = axes.collect::<Option<Vec<i64>>>().ok_or("the transposes have different ranks")?;
        let x = m.value("x")?;
        if axes.is_sorted() {
            return Ok(x);
        }
        m.call("Transpose", &[("perm", Setting::Ints(axes))], &[Some(x)])
    })
    .shared()
    .law("two permutations of axes are one permutation, or none")
    .example(
        "(float[A, B, C] x) => (float[B, C, A] z) {
            y = Transpose <perm = [0, 2, 1]> (x)
            z = Transpose <perm = [2, 1, 0]> (y)
        }",
    ),
    building(
        "reshapes",
        "Reshape|Flatten|Squeeze|Unsqueeze:outer(Reshape|Flatten|Squeeze|Unsqueeze:inner(x, \
             ..), ..)",
        reshaped,
    )
    .shared()
    .law("reshapes keep the order of the elements, so only the last shape matters")
    .example(
        "(float[N, 4, 3] x) => (float[N, 3, 2, 2] z) <int64[1] axis = {2}, int64[4] s = {-1, 3, 2, 2}> {
            y = Unsqueeze (x, axis)
            z = Reshape (y, s)
        }",
    ),
    building(
        "reshape after a transpose",
        "Reshape|Flatten|Squeeze|Unsqueeze:outer(Transpose:moved(x), ..)",
        |m| {
            let (x, sizes_input) = (m.value("x")?, m.root().input(1));
            ones_move(m)?;
            let sources: Vec<ValueId> = [x].into_iter().chain(sizes_input).collect();
            m.reshape(x, &sources)
        },
    )
    .shared()
    .law("moving axes of size 1 keeps the order of the elements")
    .example(
        "(float[A, 1, B] x) => (float[A, B] z) <int64[1] axis = {0}> {
            y = Transpose <perm = [1, 0, 2]> (x) z = Squeeze (y, axis)
        }",
    ),
    building(
        "transpose after a reshape",
        "Transpose:moved(Reshape|Flatten|Squeeze|Unsqueeze:inner(x, ..))",
        |m| {
            let (x, sizes_input) = (m.value("x")?, m.node("inner")?.input(1));
            ones_move(m)?;
            let sources: Vec<ValueId> = [x].into_iter().chain(sizes_input).collect();
            m.reshape(x, &sources)
        },
    )
    .shared()
    .law("moving axes of size 1 keeps the order of the elements")
    .example(
        "(float[A, B] x) => (float[1, A, B] z) <int64[1] axis = {1}> {
            y = Unsqueeze (x, axis) z = Transpose <perm = [1, 0, 2]> (y)
        }",
    ),
    building(
        "transpose of joined axes",
        "Reshape|Flatten|Squeeze|Unsqueeze:outer(Transpose:moved(Reshape|Flatten|Squeeze|Unsqueeze:inner(x, \
             ..)), ..)",
        |m| {
            let x = m.value("x")?;
            let joined = m.node("inner")?.output(0).ok_or("the node has no output")?;
            let (from, joined) = (&m.tensor_of(x)?.shape, &m.tensor_of(joined)?.shape);
            let runs = runs(from, joined).ok_or("")?;
            let moved: Vec<usize> =
                m.axes("moved")?.iter().filter_map(|&axis| runs.get(axis).cloned()).flatten().collect();
            let sizes = moved.iter().filter_map(|&axis| from.get(axis));
            if !sizes.eq(&m.result()?.shape) {
                return Err("");
            }
            if moved.is_sorted() {
                return Ok(x);
            }
            let axes = moved.iter().map(|&axis| axis as i64).collect();
            m.call("Transpose", &[("perm", Setting::Ints(axes))], &[Some(x)])
        },
    )
    .shared()
    .law("axes that a reshape joins and another one separates are moved together")
    .example(
        "(float[A, 2, B, 3] x) => (float[A, 2, 3, B] z) {
            n = Shape <start = 2, end = 3> (x) m = Shape <start = 0, end = 2> (x)
            k = Constant <value_ints = [3]> () r = Constant <value_ints = [-1]> ()
            j = Concat <axis = 0> (r, n, k) e = Concat <axis = 0> (m, k, n)
            y = Reshape (x, j) t = Transpose <perm = [0, 2, 1]> (y) z = Reshape (t, e)
        }",
    ),
    rule("casts", "Cast:outer(Cast:inner(x))", "Cast<to = @to>(x)")
        .when(through_wider)
        .shared()
        .law(
            "a cast through a type that represents every value exactly changes nothing, except through floats to integers \
             that do not represent every value",
        )
        .example("(int8[N] x) => (float[N] z) { y = Cast <to = 7> (x) z = Cast <to = 1> (y) }"),
];

impl<'g> Match<'_, 'g> {
    /// Returns the axes of the input, in the order in which they are axes of a transpose's result.
    pub fn axes(&self, label: &str) -> Result<Vec<usize>, Miss> {
        use crate::ops::shape::transpose::Transpose;
        let rank = match self.node(label)?.input(0) {
            Some(input) => self.tensor_of(input)?.rank(),
            None => 0,
        };
        let axes = self.operator::<Transpose>(label)?.axes(rank);
        axes.map_err(|_| "the axes are not a permutation")
    }

    /// Returns the sizes for a reshape, if the shapes and elements of `sources` determine all symbols in them.
    pub fn sizes(&mut self, shape: &[Dim], sources: &[ValueId]) -> Result<ValueId, Miss> {
        let mut known: BTreeSet<Symbol> = BTreeSet::new();
        for &id in sources {
            let source = self.value_of(id);
            let dims = source.ty.iter().filter_map(|ty| ty.as_tensor());
            known.extend(dims.flat_map(|tensor| &tensor.shape).flat_map(Dim::symbols));
            if let Some(crate::types::Known::Ints(dims)) = source.known.peek() {
                known.extend(dims.iter().flat_map(Dim::symbols));
            }
        }
        let mut names = shape.iter().flat_map(Dim::symbols);
        if names.all(|name| known.contains(&name)) {
            Ok(self.integers(shape.to_vec()))
        } else {
            Err("a size is known only from a value that would be removed")
        }
    }

    /// Reshapes a value to the shape of the result.
    pub fn reshape(&mut self, x: ValueId, sources: &[ValueId]) -> Result<ValueId, Miss> {
        let shape = self.result()?.shape.clone();
        let sizes = self.sizes(&shape, sources)?;
        let zero = shape.iter().any(|dim| dim.is(0));
        let attributes = [("allowzero", Setting::Int(1))];
        let attributes = if zero { attributes.as_slice() } else { &[] };
        self.call("Reshape", attributes, &[Some(x), Some(sizes)])
    }
}

fn reshaped(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let x = m.value("x")?;
    let second = |node: &Node| node.input(1);
    let mut sources = vec![x];
    sources.extend(second(m.node("inner")?));
    sources.extend(second(m.node("outer")?));
    m.reshape(x, &sources)
}

/// Returns the axes of a shape that a reshape joins to each axis of another one.
fn runs(from: &[Dim], joined: &[Dim]) -> Option<Vec<Vec<usize>>> {
    let mut axes = from.iter().enumerate();
    let run = |size: &Dim| {
        let (mut run, mut product) = (Vec::new(), Dim::from(1));
        while product != *size {
            let (axis, factor) = axes.next()?;
            run.push(axis);
            product = product.mul(factor)?;
        }
        Some(run)
    };
    let runs = joined.iter().map(run).collect();
    if axes.next().is_none() { runs } else { None }
}

/// Fails unless the axes of `moved` whose size is not 1 keep their order.
fn ones_move(m: &Match<'_, '_>) -> Result<(), Miss> {
    let input = m.node("moved")?.input(0).ok_or("the node has no input")?;
    let shape = &m.tensor_of(input)?.shape;
    let axes = m.axes("moved")?;
    let longer = axes.iter().filter(|&&axis| !shape.get(axis).is_some_and(|size| size.is(1)));
    if longer.is_sorted() { Ok(()) } else { Err("") }
}

fn through_wider(m: &mut Match<'_, '_>) -> Result<(), Miss> {
    let from = m.tensor("x")?.dtype;
    let inner = m.node("inner")?.output(0).ok_or("the node has no output")?;
    let (through, to) = (m.tensor_of(inner)?.dtype, m.result()?.dtype);
    m.set("to", Setting::Int(to.number().into()));
    // The conversion to smaller types depends on another attribute.
    let plain =
        to.is_float() || to.bits() >= 8 && matches!(to.kind(), ElementClass::Int | ElementClass::Bool);
    // Floats out of the range of an integer become the nearest bound, integers wrap.
    let saturates = from.is_int() && through.is_float() && to.is_int() && !represents(to, from);
    if !plain {
        Err("other attributes affect the cast to this type")
    } else if saturates {
        Err("the float between integers saturates, where a cast of integers wraps")
    } else if represents(through, from) {
        Ok(())
    } else {
        Err("the intermediate type cannot represent all values")
    }
}

/// Returns `true` if a type represents every value of another exactly.
fn represents(wide: DType, narrow: DType) -> bool {
    use DType::{Bf16, F16, F32, F64};
    // Digits of the fraction, including the hidden one.
    let float = |dtype: DType| match dtype {
        F64 => Some(53),
        F32 => Some(24),
        F16 => Some(11),
        Bf16 => Some(8),
        _ => None,
    };
    let digits = |dtype: DType| dtype.bits() - u32::from(dtype.is_signed());
    match (wide.kind(), narrow.kind()) {
        (ElementClass::Float, ElementClass::Float) => {
            matches!((wide, narrow), (F64, F32 | F16 | Bf16) | (F32, F16 | Bf16))
        }
        (ElementClass::Float, ElementClass::Int) => {
            float(wide).is_some_and(|fraction| fraction >= digits(narrow))
        }
        (ElementClass::Int, ElementClass::Int) => {
            let sign = wide.is_signed() || !narrow.is_signed();
            sign && digits(wide) >= digits(narrow)
        }
        (ElementClass::Float, ElementClass::Bool) => float(wide).is_some(),
        (ElementClass::Int, ElementClass::Bool) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{reasons, shown};

    #[test]
    fn sequences_are_shortened() {
        expect![[r#"
            transposes
              float32[A, C, B] y = Transpose <axes: [0, 2, 1]> (x)
              float32[B, C, A] z = Transpose <axes: [2, 1, 0]> (y)
              =>
              float32[B, C, A] z = Transpose <axes: [1, 2, 0]> (x)
            reshapes
              <
              int64[1] axis = {2},
              int64[4] s = {-1, 3, 2, 2}
              >
              float32[N, 4, 1, 3] y = Unsqueeze (x, axis)
              float32[N, 3, 2, 2] z = Reshape (y, s)
              =>
              <
              int64[4] %5 = {N, 3, 2, 2}
              >
              float32[N, 3, 2, 2] z = Reshape (x, %5)
            reshape after a transpose
              <
              int64[1] axis = {0}
              >
              float32[1, A, B] y = Transpose <axes: [1, 0, 2]> (x)
              float32[A, B] z = Squeeze (y, axis)
              =>
              <
              int64[2] %4 = {A, B}
              >
              float32[A, B] z = Reshape (x, %4)
            transpose after a reshape
              <
              int64[1] axis = {1}
              >
              float32[A, 1, B] y = Unsqueeze (x, axis)
              float32[1, A, B] z = Transpose <axes: [1, 0, 2]> (y)
              =>
              <
              int64[3] %4 = {1, A, B}
              >
              float32[1, A, B] z = Reshape (x, %4)
            transpose of joined axes
              <
              int64[3] j = {-1, B, 3},
              int64[4] e = {A, 2, 3, B}
              >
              float32[2*A, B, 3] y = Reshape (x, j)
              float32[2*A, 3, B] t = Transpose <axes: [0, 2, 1]> (y)
              float32[A, 2, 3, B] z = Reshape (t, e)
              =>
              float32[A, 2, 3, B] z = Transpose <axes: [0, 1, 3, 2]> (x)
            casts
              int64[N] y = Cast <to: I64, saturate: true, toward: "Up"> (x)
              float32[N] z = Cast <to: F32, saturate: true, toward: "Up"> (y)
              =>
              float32[N] z = Cast <to: F32, saturate: true, toward: "Up"> (x)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn floats_between_integers_may_saturate() {
        let found = |to: &str, number: i32| {
            let nodes = format!("f = Cast <to = 1> (x) y = Cast <to = {number}> (f)");
            reasons("casts", &format!("(int16[N] x) => ({to}[N] y) {{ {nodes} }}"))
        };
        let reason = "the float between integers saturates, where a cast of integers wraps";
        // 300 becomes 255, not 44.
        assert_eq!(found("uint8", 2), [reason]);
        assert_eq!(found("uint16", 4), [reason]);
        assert!(found("int32", 6).is_empty());
        assert!(found("bool", 9).is_empty());
    }

    #[test]
    fn casts_through_wider_types_are_one_cast() {
        let found = |dtypes: [&str; 3], through: i32, to: i32| {
            let [from, _, result] = dtypes;
            let nodes = format!("w = Cast <to = {through}> (x) y = Cast <to = {to}> (w)");
            reasons("casts", &format!("({from}[N] x) => ({result}[N] y) {{ {nodes} }}"))
        };
        for (dtypes, through, to) in [
            (["float16", "float", "int8"], 1, 3),
            (["float16", "float", "bfloat16"], 1, 16),
            (["bfloat16", "float", "double"], 1, 11),
            (["float16", "double", "float"], 11, 1),
            (["int8", "int32", "uint8"], 6, 2),
            (["int8", "float", "int8"], 1, 3),
            (["uint8", "bfloat16", "float"], 16, 1),
            (["uint8", "float16", "float"], 10, 1),
        ] {
            assert!(found(dtypes, through, to).is_empty(), "{dtypes:?}");
        }
        let loss = "the intermediate type cannot represent all values";
        let other = "other attributes affect the cast to this type";
        for (dtypes, through, to, reason) in [
            (["float16", "bfloat16", "float"], 16, 1, loss),
            (["bfloat16", "float16", "float"], 10, 1, loss),
            (["int32", "float", "double"], 1, 11, loss),
            (["uint8", "int8", "int32"], 3, 6, loss),
            (["uint32", "int32", "int64"], 6, 7, loss),
            (["float16", "float", "float8e4m3fn"], 1, 17, other),
            (["int8", "int32", "int4"], 6, 22, other),
        ] {
            assert_eq!(found(dtypes, through, to), [reason], "{dtypes:?}");
        }
    }
}
