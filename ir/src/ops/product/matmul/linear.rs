//! Products with stored weights, which are layers.

use crate::diagnostics::Problem;
use crate::emit::{Emit, whole};
use crate::rust::{Code, code};

/// Returns the field of a fully connected layer with an optional activation, if its operands are stored: the weight,
/// input 1, `[inputs, outputs]` or transposed, and the bias, input 2.
pub(super) fn linear_layer(
    cx: &mut Emit<'_, '_>,
    transposed: bool,
    activation: Option<Code>,
) -> Result<Option<Code>, Problem> {
    if !cx.is_stored(1) || cx.has(2) && !cx.is_stored(2) {
        return Ok(None);
    }
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
    Ok(Some(cx.layer_of(&hint, code!(layers::Linear), load, parameters)))
}
