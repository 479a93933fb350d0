//! Word embeddings by convolutions over characters.

use std::rc::Rc;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("WordConvEmbedding", &[1], |a| {
    Ok(Rc::new(WordConv {
        filters: a.int("embedding_size")?.filter(|&size| size != -1),
        width: a.int("conv_window_size")?.filter(|&size| size != -1),
        features: a.int("char_embedding_size")?.filter(|&size| size != -1),
    }))
})
.arity("rrrr", "r")
.of(MICROSOFT)
.noted("returns 0 for a word without characters")];

/// The maximum of each filter over the windows of a word's characters. Sizes in attributes must equal those of the
/// weight.
#[derive(Debug)]
struct WordConv {
    filters: Option<i64>,
    width: Option<i64>,
    features: Option<i64>,
}

attributes!(struct WordConv { filters, width, features });

impl Operator for WordConv {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let characters = cx.tensor_of_rank(0, 2)?;
        let (weight, bias) = (cx.tensor_of_rank(1, 4)?, cx.tensor_of_rank(2, 1)?);
        let table = cx.tensor_of_rank(3, 2)?;
        if characters.dtype != DType::I32 {
            return Err(Problem::expected("the input", characters, "int32"));
        }
        for (what, tensor) in [("the weight", &weight), ("the bias", &bias), ("the table", &table)] {
            if tensor.dtype != DType::F32 {
                return Err(Problem::expected(what, tensor, "float32"));
            }
        }
        let ([words, length], [filters, _, width, features], [codes, _]) =
            (characters.shape.as_slice(), weight.shape.as_slice(), table.shape.as_slice())
        else {
            return Err(Problem::new("the operands have unexpected ranks, expected 2, 4, 1 and 2"));
        };
        let stated = |size: Option<i64>, found: &Dim| size.map_or(found.clone(), Dim::from);
        let shape = [
            stated(self.filters, filters),
            Dim::from(1),
            stated(self.width, width),
            stated(self.features, features),
        ];
        sizes::shaped("the weight", &weight, &shape)?;
        sizes::shaped("the bias", &bias, std::slice::from_ref(filters))?;
        sizes::shaped("the table", &table, &[codes.clone(), features.clone()])?;
        sizes::at_most(("the weight", width, "columns"), ("a word", length, "characters"))?;
        cx.output(0, DType::F32, vec![words.clone(), filters.clone()]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (characters, weight) = (cx.tensor(0)?, cx.tensor(1)?);
        let (bias, table) = (cx.tensor(2)?, cx.tensor(3)?);
        cx.may_fail();
        Ok(code!(ops::word_conv::word_conv_embedding(#characters, #weight, #bias, #table)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn operands_fit_each_other() {
        problems(
            &[
                "(int32[n, m] x, float[f, 1, k, e] w, float[f] b, float[v, e] c) => (float[n, f] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int64[n, m] x, float[f, 1, k, e] w, float[f] b, float[v, e] c) => (float[n, f] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int32[n, 2] x, float[3, 1, 3, 4] w, float[3] b, float[v, 4] c) => (float[n, 3] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int32[n, 4] x, float[3, 2, 3, 4] w, float[3] b, float[v, 4] c) => (float[n, 3] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int32[n, 4] x, float[3, 1, 3, 4] w, float[2] b, float[v, 4] c) => (float[n, 3] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int32[n, 4] x, float[3, 1, 3, 4] w, float[3] b, float[v, 5] c) => (float[n, 3] y) { y = com.microsoft.WordConvEmbedding (x, w, b, c) }",
                "(int32[n, 4] x, float[3, 1, 3, 4] w, float[3] b, float[v, 4] c) => (float[n, 3] y) { y = com.microsoft.WordConvEmbedding <conv_window_size = 2> (x, w, b, c) }",
            ],
            expect![[r#"
                fine
                the input is int64[n, m], expected int32
                the weight has 3 columns, but a word has only 2 characters
                the weight is float32[3, 2, 3, 4], expected shape [3, 1, 3, 4]
                the bias is float32[2], expected shape [3]
                the table is float32[v, 5], expected shape [v, 4]
                the weight is float32[3, 1, 3, 4], expected shape [3, 1, 2, 4]
            "#]],
        );
    }
}
