//! Products with constant weights, which are layers.

use crate::diagnostics::Problem;
use crate::emit::{Emit, whole};
use crate::rust::{Code, code};

/// Returns the call of a fully connected layer with an optional activation. The weight is constant: input 1, `[inputs, outputs]` or
/// transposed. Input 2 is a bias. `sum` is added before the activation.
pub(super) fn linear_layer(
    cx: &mut Emit<'_, '_>,
    x: Code,
    transposed: bool,
    sum: Option<Code>,
    activation: Option<Code>,
) -> Result<Code, Problem> {
    if cx.is_stored(1) && (!cx.has(2) || cx.is_stored(2)) {
        let layer = stored(cx, transposed, activation)?;
        return Ok(match sum {
            Some(sum) => code!(#layer.forward_add(#x, #sum)),
            None => code!(#layer.forward(#x)),
        });
    }
    let activation = activation.unwrap_or_else(|| code!(Activation::Identity));
    let load = code!(layers::SharedLinear::new(#activation));
    let layer = cx.packed_layer(1, transposed, code!(layers::SharedLinear), load);
    let (mut weight, bias) = (cx.tensor(1)?, cx.optional(2)?);
    if transposed {
        weight = code!(#weight.transpose());
    }
    let sum = sum.map_or_else(|| code!(None), |sum| code!(Some(#sum)));
    Ok(code!(#layer.forward(#x, #weight, #bias, #sum)))
}

/// Returns the field of a layer that owns its operands.
fn stored(cx: &mut Emit<'_, '_>, transposed: bool, activation: Option<Code>) -> Result<Code, Problem> {
    let hint = cx.layer_hint(1);
    let bias = if cx.has(2) { cx.weight(2).map(|name| code!(Some(#name))) } else { Some(code!(None)) };
    let named = [("weight", 1), ("bias", 2)];
    let parameters: &[_] = match (cx.weight(1), &bias) {
        (Some(_), Some(_)) => &named,
        _ => &[],
    };
    let load = match (cx.weight(1), bias, transposed) {
        (Some(weight), Some(bias), true) => {
            code!(layers::Linear::load_transposed(weights, #weight, #bias))
        }
        (Some(weight), Some(bias), false) => code!(layers::Linear::load(weights, #weight, #bias)),
        (.., transposed) => {
            let (weight, bias) = (cx.loaded(1)?, cx.loaded_optional(2)?);
            if transposed {
                let weight = whole(weight);
                code!(layers::Linear::new(#weight.transpose(), #bias))
            } else {
                code!(layers::Linear::new(#weight, #bias))
            }
        }
    };
    let load = match activation {
        Some(activation) => code!(#load.activation(#activation)),
        None => load,
    };
    Ok(cx.layer_of(&hint, code!(layers::Linear), load, parameters))
}
