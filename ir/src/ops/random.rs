//! Random numbers.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::{Operator, Row, row};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::elementwise::cast::from_bool;
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const FAMILIES: &[&[Row]] = &[ROWS];

pub const ROWS: &[Row] = &[
    row("Bernoulli", &[15, 22], bernoulli),
    row("Multinomial", &[7, 22], multinomial),
    row("RandomNormal", &[1, 22], |a| floats(a, NORMAL, true)).arity("", "r"),
    row("RandomNormalLike", &[1, 22], |a| floats(a, NORMAL, false)),
    row("RandomUniform", &[1, 22], |a| floats(a, UNIFORM, true)).arity("", "r"),
    row("RandomUniformLike", &[1, 22], |a| floats(a, UNIFORM, false)),
];

/// A function of `ops::random`, and its two parameters with their defaults.
type Distribution = (&'static str, [(&'static str, f32); 2]);

const NORMAL: Distribution = ("normal", [("mean", 0.0), ("scale", 1.0)]);
const UNIFORM: Distribution = ("uniform", [("low", 0.0), ("high", 1.0)]);

/// Seed of the generator, the same in each call. Without one, the system provides a different seed in each call.
#[derive(Clone, Copy, Debug)]
pub struct Seed(Option<u64>);

attributes!(struct Seed(inner));

/// Random floats.
#[derive(Debug)]
struct Floats {
    function: &'static str,
    numbers: [f32; 2],
    /// Type of the elements; `None` for that of input 0.
    dtype: Option<DType>,
    /// Shape of the result; `None` for that of input 0.
    shape: Option<Shape>,
    seed: Seed,
}

attributes!(struct Floats { function, numbers, dtype, shape, seed });

/// 1 with the probability that the input contains, otherwise 0.
#[derive(Debug)]
struct Bernoulli {
    dtype: Option<DType>,
    seed: Seed,
}

attributes!(struct Bernoulli { dtype, seed });

/// Indices sampled for each row by the logarithms of their probabilities.
#[derive(Debug)]
struct Multinomial {
    dtype: DType,
    count: i64,
    seed: Seed,
}

attributes!(struct Multinomial { dtype, count, seed });

fn floats(
    a: &Attributes<'_>,
    (function, [first, second]): Distribution,
    shaped: bool,
) -> Result<Rc<dyn Operator>, Problem> {
    let dtype = match (dtype(a)?, shaped) {
        (None, true) => Some(DType::F32),
        (dtype, _) => dtype,
    };
    let shape = if shaped {
        Some(a.required("shape", Attributes::ints)?.into_iter().map(Dim::from).collect())
    } else {
        None
    };
    Ok(Rc::new(Floats {
        function,
        numbers: [a.float_or(first.0, first.1)?, a.float_or(second.0, second.1)?],
        dtype,
        shape,
        seed: Seed::float(a)?,
    }))
}

fn bernoulli(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Bernoulli { dtype: dtype(a)?, seed: Seed::float(a)? }))
}

fn multinomial(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let count = a.int_or("sample_size", 1)?;
    if count < 0 {
        return Err(Problem::expected("`sample_size`", count, "a non-negative integer"));
    }
    Ok(Rc::new(Multinomial { dtype: dtype(a)?.unwrap_or(DType::I32), count, seed: Seed::float(a)? }))
}

fn dtype(a: &Attributes<'_>) -> Result<Option<DType>, Problem> {
    let Some(number) = a.int("dtype")? else {
        return Ok(None);
    };
    let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
    match dtype {
        Some(_) => Ok(dtype),
        None => Err(Problem::expected("`dtype`", number, "an ONNX element type")),
    }
}

/// Reports probabilities that are not floats.
fn check_probabilities(x: &TensorType) -> Result<(), Problem> {
    if x.dtype.is_float() { Ok(()) } else { Err(Problem::expected("the input", x, "floats")) }
}

impl Seed {
    pub fn new(seed: Option<u64>) -> Self {
        Self(seed)
    }

    /// Reads the attribute `seed`, a float.
    fn float(a: &Attributes<'_>) -> Result<Self, Problem> {
        let whole = |seed: f32| {
            if seed.fract() == 0.0 && seed.abs() < 1e18 {
                seed as i64 as u64
            } else {
                u64::from(seed.to_bits())
            }
        };
        let seed = a.float("seed")?.filter(|seed| !seed.is_nan());
        Ok(Self(seed.map(whole)))
    }

    /// Generates `Some(seed)` or `None`.
    pub fn emit(self) -> Code {
        match self.0.map(Literal::u64_unsuffixed) {
            Some(seed) => code!(Some(#seed)),
            None => code!(None),
        }
    }

    pub fn is_set(self) -> bool {
        self.0.is_some()
    }
}

impl Operator for Floats {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let dtype = match self.dtype {
            Some(dtype) => dtype,
            None => cx.tensor(0)?.dtype,
        };
        let shape = match &self.shape {
            Some(shape) => shape.clone(),
            None => cx.tensor(0)?.shape,
        };
        if !dtype.is_float() {
            return Err(Problem::expected("the type of the result", dtype, "a float type")
                .help("set `dtype` to a float type and cast the result"));
        }
        cx.output(0, dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let output = cx.output_tensor(0)?.clone();
        if output.count().is_none() {
            cx.may_fail();
        }
        let (shape, device) = (cx.shape(&output.shape), cx.device());
        let function = format_ident!("{}", self.function);
        let dtype = format_ident!("{}", output.dtype.carrier());
        let numbers = self.numbers.map(|number| float_literal(f64::from(number), DType::F64));
        let seed = self.seed.emit();
        Ok(code! {
            ops::random::#function(#shape, [#(#numbers),*], #seed, DType::#dtype, #device)
        })
    }

    fn is_pure(&self) -> bool {
        self.seed.is_set()
    }
}

impl Operator for Bernoulli {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        check_probabilities(&x)?;
        let dtype = self.dtype.unwrap_or(x.dtype);
        let kinds = [ElementClass::Float, ElementClass::Int, ElementClass::Bool];
        if !kinds.contains(&dtype.kind()) {
            return Err(Problem::expected("`dtype`", dtype, "a float, integer or boolean type"));
        }
        cx.output(0, dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, seed) = (cx.tensor(0)?, self.seed.emit());
        let drawn = code!(ops::random::bernoulli(#x, #seed));
        Ok(from_bool(&drawn, cx.output_tensor(0)?.dtype))
    }

    fn is_pure(&self) -> bool {
        self.seed.is_set()
    }
}

impl Operator for Multinomial {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 2)?;
        check_probabilities(&x)?;
        if !self.dtype.is_int() {
            return Err(Problem::expected("`dtype`", self.dtype, "an integer type"));
        }
        if x.shape.get(1).and_then(Dim::number) == Some(0) {
            return Err(Problem::expected("the input", x, "at least one class"));
        }
        let rows = x.shape.into_iter().take(1);
        let shape = rows.chain([Dim::from(self.count)]).collect();
        cx.output(0, self.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, count) = (cx.tensor(0)?, Literal::i64_unsuffixed(self.count));
        let (seed, dtype) = (self.seed.emit(), format_ident!("{}", self.dtype.carrier()));
        Ok(code!(ops::random::multinomial(#x, #count, #seed, DType::#dtype)))
    }

    fn is_pure(&self) -> bool {
        self.seed.is_set()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn types_are_named_or_those_of_the_input() {
        check(
            r#"
            main (double[N, 3] x) => (float[2] a, double[N, 3] b, float16[N, 3] c, bool[N, 3] d, int64[N, 5] e) {
                a = RandomNormal <shape = [2], seed = 3.0> ()
                b = RandomUniformLike <high = 2.0> (x)
                c = RandomNormalLike <dtype = 10> (x)
                d = Bernoulli <dtype = 9> (x)
                e = Multinomial <sample_size = 5, dtype = 7> (x)
            }
            "#,
            expect![[r#"
                main (float64[N, 3] x) => (float32[2] a, float64[N, 3] b, float16[N, 3] c, bool[N, 3] d, int64[N, 5] e)
                {
                    float32[2] a = RandomNormal <function: "normal", numbers: [0.0, 1.0], dtype: F32, shape: [2], seed: {3}> ()
                    float64[N, 3] b = RandomUniformLike <function: "uniform", numbers: [0.0, 2.0]> (x)
                    float16[N, 3] c = RandomNormalLike <function: "normal", numbers: [0.0, 1.0], dtype: F16> (x)
                    bool[N, 3] d = Bernoulli <dtype: Bool> (x)
                    int64[N, 5] e = Multinomial <dtype: I64, count: 5> (x)
                }
            "#]],
        );
    }

    #[test]
    fn whole_numbers_cannot_be_drawn() {
        check(
            "main (int64[N] x) => (float[N] y) { y = RandomNormalLike (x) }",
            expect![[r#"
                cannot compile `model`

                  the type of the result is int64, expected a float type
                    at node `y` (RandomNormalLike version 1)
                    help: set `dtype` to a float type and cast the result

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
