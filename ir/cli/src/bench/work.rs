//! How much a node computes.

/// The products that a node adds up, where its operator is one of products: convolutions, matrix products,
/// attention and recurrent layers. What other operators do to each element is not counted.
pub fn multiply_adds(
    operator: &str,
    operands: &[Option<Vec<usize>>],
    result: &[usize],
) -> Option<f64> {
    let operand = |at: usize| operands.get(at)?.as_deref();
    let name = operator.rsplit('.').next().unwrap_or(operator);
    let product = |sizes: &[usize]| sizes.iter().map(|&size| size as f64).product::<f64>();
    match name {
        "Conv" | "FusedConv" | "NhwcFusedConv" | "ConvInteger" => {
            let weight = operand(1)?;
            Some(product(result) * product(weight.get(1..)?))
        }
        "QLinearConv" => Some(product(result) * product(operand(3)?.get(1..)?)),
        "ConvTranspose" => Some(product(operand(0)?) * product(operand(1)?.get(1..)?)),
        "MatMul"
        | "FusedMatMul"
        | "Linear"
        | "FusedLinear"
        | "MatMulInteger"
        | "DynamicQuantizeMatMul"
        | "MatMulNBits" => Some(product(result) * *operand(0)?.last()? as f64),
        "QLinearMatMul" => Some(product(result) * *operand(0)?.last()? as f64),
        // Either operand may be transposed, so that the inner size is what the rows leave.
        "Gemm" | "FusedGemm" | "QGemm" => {
            let (rows, first) = (*result.first()? as f64, product(operand(0)?));
            Some(if rows > 0.0 {
                product(result) * first / rows
            } else {
                0.0
            })
        }
        "Attention" | "JoinedAttention" => {
            let keys = operand(1)?;
            let keys = *keys.get(keys.len().checked_sub(2)?)? as f64;
            Some(keys * (product(operand(0)?) + product(result)))
        }
        "LSTM" | "GRU" | "RNN" => {
            let steps = product(operand(0)?.get(..2)?);
            Some(steps * (product(operand(1)?) + product(operand(2)?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operator: &str, operands: &[&[usize]], result: &[usize], expected: Option<f64>) {
        let operands: Vec<_> = operands.iter().map(|sizes| Some(sizes.to_vec())).collect();
        assert_eq!(
            multiply_adds(operator, &operands, result),
            expected,
            "{operator}"
        );
    }

    #[test]
    fn products_are_counted() {
        check(
            "Conv",
            &[&[1, 3, 8, 8], &[16, 3, 3, 3]],
            &[1, 16, 8, 8],
            Some(27_648.0),
        );
        // Depthwise: each result is made of one channel.
        check(
            "com.microsoft.FusedConv",
            &[&[1, 16, 8, 8], &[16, 1, 3, 3]],
            &[1, 16, 8, 8],
            Some(9_216.0),
        );
        check("MatMul", &[&[2, 4, 5], &[5, 6]], &[2, 4, 6], Some(240.0));
        check("Gemm", &[&[5, 4], &[5, 6]], &[4, 6], Some(120.0));
        check(
            "ConvTranspose",
            &[&[1, 4, 5, 5], &[4, 2, 3, 3]],
            &[1, 2, 7, 7],
            Some(1_800.0),
        );
        // Four heads of eight channels, packed or not.
        check(
            "JoinedAttention",
            &[&[1, 10, 32], &[1, 20, 32], &[1, 20, 32]],
            &[1, 10, 32],
            Some(12_800.0),
        );
        check(
            "Attention",
            &[&[1, 4, 10, 8], &[1, 4, 20, 8], &[1, 4, 20, 8]],
            &[1, 4, 10, 8],
            Some(12_800.0),
        );
        check(
            "LSTM",
            &[&[7, 2, 3], &[1, 16, 3], &[1, 16, 4]],
            &[7, 1, 2, 4],
            Some(1_568.0),
        );
    }

    #[test]
    fn other_operators_are_not() {
        check("Softmax", &[&[2, 3]], &[2, 3], None);
        assert_eq!(multiply_adds("Conv", &[None], &[2, 3]), None);
    }
}
