//! Features rotated by angles that depend on positions.

use std::rc::Rc;

use proc_macro2::Literal;

use super::heads::{self, agree, count, dim, sizes, split};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::sizes::{same_type, shaped};
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("RotaryEmbedding", &[23], read).follows().arity("rrro", "r")];

const POSITIONS: usize = 3;

#[derive(Debug)]
struct RotaryEmbedding {
    heads: Option<usize>,
    /// Number of rotated features, if not all are rotated.
    features: Option<usize>,
    interleaved: bool,
}

attributes!(struct RotaryEmbedding { heads, features, interleaved });

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let features = a.int_or("rotary_embedding_dim", 0)?;
    let Ok(features) = usize::try_from(features) else {
        return Err(Problem::expected("`rotary_embedding_dim`", features, "a non-negative integer"));
    };
    // Exporters write 0 if the input has an axis of heads.
    let heads = match a.int("num_heads")? {
        Some(0) => None,
        _ => count(a, "num_heads")?,
    };
    Ok(Rc::new(RotaryEmbedding {
        heads,
        features: (features > 0).then_some(features),
        interleaved: a.flag("interleaved", false)?,
    }))
}

impl Operator for RotaryEmbedding {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let [batch, _, length, size] = sizes(cx, 0, ("num_heads", self.heads))?;
        let x = cx.tensor(0)?;
        let rotated = self.features.map_or(size.clone(), dim);
        let odd = rotated.number().is_some_and(|rotated| rotated.rem_euclid(2) != 0);
        let beyond = match (rotated.number(), size.number()) {
            (Some(rotated), Some(size)) => rotated > size,
            _ => false,
        };
        if odd || beyond {
            let expected = format!("an even number of at most {size}");
            return Err(Problem::expected("the number of rotated features", rotated, expected));
        }
        let pairs = rotated.div(&Dim::from(2)).unwrap_or_default();
        let rank = if cx.has(POSITIONS) { 2 } else { 3 };
        for (what, input) in [("`cos_cache`", 1), ("`sin_cache`", 2)] {
            let cache = cx.tensor_of_rank(input, rank)?;
            same_type((what, &cache), ("the input", &x))?;
            if let Some(last) = cache.shape.last() {
                agree("the number of angles", last, &pairs)?;
            }
            if let ([one, other, _], false) = (cache.shape.as_slice(), cx.has(POSITIONS)) {
                agree("the batch size", one, &batch)?;
                agree("the sequence length", other, &length)?;
            }
        }
        shaped("`sin_cache`", &cx.tensor(2)?, &cx.tensor(1)?.shape)?;
        if cx.has(POSITIONS) {
            let positions = cx.tensor_of_rank(POSITIONS, 2)?;
            if !positions.dtype.is_int() {
                return Err(Problem::expected("`position_ids`", positions, "integers"));
            }
            if let [one, other] = positions.shape.as_slice() {
                agree("the batch size", one, &batch)?;
                agree("the sequence length", other, &length)?;
            }
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.rank();
        let x = split(cx, 0, self.heads)?;
        if !self.fits(cx)? {
            cx.may_fail();
        }
        let counted = self.counted(cx)?;
        let mut angles = [cx.tensor(1)?, cx.tensor(2)?];
        if cx.has(POSITIONS) {
            for cache in &mut angles {
                let positions = cx.tensor(POSITIONS)?;
                *cache = code!(ops::gather::gather(#cache, 0, #positions));
            }
        }
        let ([cosine, sine], interleaved) = (angles, self.interleaved);
        let y = if counted {
            code!(ops::rotary::rotate(#x, #cosine, #sine, #interleaved))
        } else {
            let features = match self.features.map(Literal::usize_unsuffixed) {
                Some(features) => code!(Some(#features)),
                None => code!(None),
            };
            code!(ops::rotary::rotate_features(#x, #cosine, #sine, #features, #interleaved))
        };
        Ok(match rank {
            3 => code!(ops::attention::merge_heads(#y)),
            _ => y,
        })
    }
}

impl RotaryEmbedding {
    /// Returns `true` if known sizes have one angle for each pair of features.
    fn counted(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let sizes = heads::known(cx.tensor_type(0)?, self.heads);
        let size = sizes.map(|[_, _, _, size]| size);
        let rotated = self.features.map(dim).or(size);
        let rotated = rotated.and_then(|rotated| rotated.number());
        let angles = cx.tensor_type(1)?.shape.last().and_then(Dim::number);
        let doubled = angles.and_then(|angles| angles.checked_mul(2));
        Ok(rotated.is_some() && rotated == doubled)
    }

    /// Returns `true` if operands cannot contradict each other in any run. Positions, which are data, can.
    fn fits(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        if cx.has(POSITIONS) {
            return Ok(false);
        }
        let Some([batch, _, length, size]) = heads::known(cx.tensor_type(0)?, self.heads) else {
            return Ok(false);
        };
        let rotated = self.features.map_or(size, dim);
        let pairs = rotated.div(&Dim::from(2));
        let angles = [Some(&batch), Some(&length), pairs.as_ref()];
        let whole = rotated.number().is_some();
        let fits = |input: usize| {
            let shape = &cx.tensor_type(input)?.shape;
            Ok::<_, Problem>(whole && shape.iter().map(Some).eq(angles))
        };
        Ok(fits(1)? && fits(2)?)
    }
}

/// Name of [`JoinedRotaryEmbedding`], which ONNX lacks: its `RotaryEmbedding` has one angle for each pair, shared by
/// all heads.
pub const JOINED: &str = "JoinedRotaryEmbedding";

/// `x * cosine + rotated(x) * sine`, with an angle for each feature or for each pair of them.
#[derive(Debug)]
pub struct JoinedRotaryEmbedding {
    /// Whether the two features of a pair are adjacent, instead of one from each half.
    pub interleaved: bool,
}

attributes!(struct JoinedRotaryEmbedding { interleaved });

impl Operator for JoinedRotaryEmbedding {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let features = x.shape.last().and_then(Dim::number);
        let features = features.filter(|features| features.rem_euclid(2) == 0);
        for input in [1, 2] {
            let operand = cx.tensor(input)?;
            let last = operand.shape.last().and_then(Dim::number);
            let pairs = features.map(|features| features.div_euclid(2));
            same_type(("the tensor of angles", &operand), ("the input", &x))?;
            if last.is_none() || ![features, pairs].contains(&last) {
                let expected = format!("one angle for each feature, or pair of features, of {x}");
                return Err(Problem::expected("the tensor of angles", operand, expected));
            }
            let outer = operand.shape.iter().rev().zip(x.shape.iter().rev()).skip(1);
            let broadcasts = |(own, all): (&Dim, &Dim)| own.is(1) || own == all;
            if operand.rank() > x.rank() || !outer.into_iter().all(broadcasts) {
                let expected = format!("a shape that broadcasts to {x}");
                return Err(Problem::expected("the tensor of angles", operand, expected));
            }
        }
        cx.output(0, x.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let rank = cx.tensor_type(0)?.burn_rank();
        let x = cx.tensor(0)?;
        let [cosine, sine] = [cx.tensor_of_rank(1, rank)?, cx.tensor_of_rank(2, rank)?];
        let interleaved = self.interleaved;
        Ok(code!(ops::rotary::rotate_pairs(#x, #cosine, #sine, #interleaved)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn there_is_an_angle_for_each_pair() {
        check(
            r#"<ir_version: 13, opset_import: ["": 23]>
            g (float[b, t, 32] x, float[50, 8] c, float[50, 8] s, int64[b, t] p) => (float[b, t, 32] y) {
                y = RotaryEmbedding <num_heads = 4> (x, c, s, p)
            }"#,
            expect![[r#"
                cannot compile `model`

                  the number of angles is 8 in one input and 4 in another
                    at node `y` (RotaryEmbedding version 23)

                  model: IR version 13, ai.onnx 23"#]],
        );
    }
}
