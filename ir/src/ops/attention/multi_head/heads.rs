//! Attributes shared by attention with and without projections.

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::attention::heads::indivisible;
use crate::rust::{Code, code};

/// Number of heads, and options of the scores.
#[derive(Debug)]
pub struct Heads {
    pub heads: i64,
    causal: bool,
    scale: Option<f32>,
    /// Addend to the scores of masked keys.
    hidden: f32,
}

attributes!(struct Heads { heads, causal, scale, hidden });

pub fn read(a: &Attributes<'_>) -> Result<Heads, Problem> {
    Ok(Heads {
        heads: heads(a, "num_heads")?,
        causal: a.flag("unidirectional", false)?,
        scale: scale(a)?,
        hidden: a.float_or("mask_filter_value", -10_000.0)?,
    })
}

/// Reads a number of heads, which is required.
pub fn heads(a: &Attributes<'_>, name: &str) -> Result<i64, Problem> {
    Ok(i64::try_from(a.positive(name)?).unwrap_or(i64::MAX))
}

/// Reads the factor of the scores, unless it is the default.
pub fn scale(a: &Attributes<'_>) -> Result<Option<f32>, Problem> {
    Ok(a.float("scale")?.filter(|&scale| scale != 0.0))
}

/// Reports a flag whose feature is not supported.
pub fn refuse(a: &Attributes<'_>, name: &str, help: &str) -> Result<(), Problem> {
    if a.flag(name, false)? {
        Err(Problem::new(format!("`{name}` is not supported")).help(help))
    } else {
        Ok(())
    }
}

/// Returns the fraction of a size that belongs to one head.
pub fn divided(size: &Dim, heads: i64) -> Result<Dim, Problem> {
    let whole = size.number().is_none_or(|size| size % heads == 0);
    match (whole, size.div(&Dim::from(heads))) {
        (true, Some(part)) => Ok(part),
        _ => Err(indivisible(size, heads)),
    }
}

impl Heads {
    pub fn options(&self) -> Code {
        let scale = match self.scale {
            Some(scale) => {
                let scale = float_literal(f64::from(scale), DType::F64);
                code!(Some(#scale))
            }
            None => code!(None),
        };
        let (causal, hidden) = (self.causal, float_literal(f64::from(self.hidden), DType::F32));
        code!(&ops::multi_head::MultiHead { causal: #causal, scale: #scale, hidden: #hidden })
    }

    /// Returns the mask, whose rank determines its meaning.
    pub fn mask(&self, cx: &mut Emit<'_, '_>, input: usize) -> Result<Code, Problem> {
        if !cx.has(input) {
            return Ok(code!(None));
        }
        let form = match cx.tensor_type(input)?.rank() {
            1 => code!(Ends),
            2 => code!(Keys),
            3 => code!(Queries),
            _ => code!(Positions),
        };
        let mask = cx.tensor(input)?;
        Ok(code!(Some(ops::multi_head::KeyMask::#form(#mask))))
    }
}

/// Returns the problem of a cache that is updated in place.
pub fn shared_buffer() -> Problem {
    Problem::new("a cache buffer that an input and an output share is not supported")
        .help("export the model with a growing cache, without shared buffers")
}

/// Reports an input that is missing although the other one is present.
pub fn both_or_neither(cx: &Infer<'_>, inputs: [usize; 2], names: [&str; 2]) -> Result<(), Problem> {
    match (inputs.map(|input| cx.has(input)), names) {
        ([true, false], [present, missing]) | ([false, true], [missing, present]) => {
            Err(Problem::new(format!("expected both `{present}` and `{missing}`, found only `{present}`")))
        }
        _ => Ok(()),
    }
}
