//! What attention with and without projections has.

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::rust::{Code, code};

/// Heads, and how their scores are made.
#[derive(Debug)]
pub struct Heads {
    pub heads: i64,
    causal: bool,
    scale: Option<f32>,
    /// What is added to the scores of hidden keys.
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

/// A number of heads, which must be there.
pub fn heads(a: &Attributes<'_>, name: &str) -> Result<i64, Problem> {
    match a.int(name)? {
        Some(heads @ 1..) => Ok(heads),
        Some(heads) => Err(Problem::new(format!("`{name}` is {heads}"))),
        None => Err(Problem::new(format!("attribute `{name}` is missing"))),
    }
}

/// The factor on products, when it is not the usual one.
pub fn scale(a: &Attributes<'_>) -> Result<Option<f32>, Problem> {
    Ok(a.float("scale")?.filter(|&scale| scale != 0.0))
}

/// Refuses what a flag asks for.
pub fn refuse(a: &Attributes<'_>, name: &str, help: &str) -> Result<(), Problem> {
    if a.flag(name, false)? {
        Err(Problem::new(format!("`{name}` is not supported")).help(help))
    } else {
        Ok(())
    }
}

/// The part of a size that one head has.
pub fn divided(size: &Dim, heads: i64) -> Result<Dim, Problem> {
    let whole = size.number().is_none_or(|size| size % heads == 0);
    match (whole, size.div(&Dim::from(heads))) {
        (true, Some(part)) => Ok(part),
        _ => Err(Problem::new(format!("size {size} is no multiple of {heads} heads"))),
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

    /// The mask, whose rank says what it means.
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

/// The problem of a cache that is updated in place.
pub fn shared_buffer() -> Problem {
    let problem = Problem::new("the cache is shared between input and output");
    problem.help("export the model with a cache that grows, for use without bound buffers")
}
