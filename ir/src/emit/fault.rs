//! Names of nodes that may fail on data.

use super::{Emit, name};
use crate::diagnostics::shown;
use crate::rust::{Code, code};

impl Emit<'_, '_> {
    /// Declares that the node may fail on the data of a run, so that its code contains the node's name.
    ///
    /// Conditions that are proven at compile time need no name, such as indices in range and equal sizes.
    pub fn may_fail(&mut self) {
        self.fails = true;
    }

    /// Wraps code in a step with the node's name, if the node may fail.
    pub(super) fn named(&mut self, code: Code) -> Code {
        // A constructor has no field for the name.
        if self.fails && !self.source.loading {
            let node = self.named_node();
            code!(#node.run(|| #code))
        } else {
            code
        }
    }

    /// Returns the field with the node's name. It is loaded, so that parts that differ only in names are one struct.
    pub fn named_node(&mut self) -> Code {
        let hint = name::snake(name::operator(&self.node.kind));
        let operator = shown(&self.node.kind);
        let node = shown(&self.site());
        let load = code!(Node::new(#node, #operator));
        let field = self.source.layer.field(&hint, code!(Node), load, Vec::new());
        Code::field(&field)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::named;

    #[test]
    fn what_is_proven_needs_no_name() {
        named(
            &[
                "(float[n] a, float[n] b) => (float[n] y) { y = Add (a, b) }",
                "(float[n, 2] a, float[2, 3] b, float[n, 1] c) => (y) { y = Gemm (a, b, c) }",
                "(float[4, n, 2] x, float[1, 3, 2] w, float[1, 3, 3] r, float[1, n, 3] h) => (y) { y = RNN <hidden_size = 3> (x, w, r, , , h) }",
                r#"(string[n] x) => (y) { y = ai.onnx.ml.OneHotEncoder <cats_strings: strings = ["a"]> (x) }"#,
                "(float[n, 2] x) => (y) { y = ai.onnx.ml.ZipMap <classlabels_int64s: ints = [1, 0]> (x) }",
                "(float[n, 2] x) => (y) { y = ai.onnx.ml.SVMRegressor <coefficients: floats = [1.0], support_vectors: floats = [1.0, 2.0], n_supports: int = 1, rho: floats = [0.0], kernel_params: floats = [1.0, 0.0, 3.0]> (x) }",
            ],
            expect![[r#"
                none
                none
                none
                none
                none
                none
            "#]],
        );
    }

    #[test]
    fn what_a_run_may_contradict_is_named() {
        named(
            &[
                "(float[n] a, float[m] b) => (y) { y = Add (a, b) }",
                "(float[n, 2] a, float[2, 3] b, float[m, 1] c) => (y) { y = Gemm (a, b, c) }",
                "(float[t, n, 2] x, float[1, 3, 2] w, float[1, 3, 3] r) => (y) { y = RNN <hidden_size = 3> (x, w, r) }",
                "(float[4, n, 2] x, float[1, 12, 2] w, float[1, 12, 3] r, int32[m] l) => (y) { y = LSTM <hidden_size = 3> (x, w, r, , l) }",
                "(float[4, n, 2] x, float[1, 9, 2] w, float[1, 9, 3] r, float[1, m, 3] h) => (y) { y = GRU <hidden_size = 3> (x, w, r, , , h) }",
                "(float[1, 1, 4, 4] x, int64[4] s) => (y) { y = Resize (x, , , s) }",
                "(float[n, 2] a, float[m, 2] b) => (y) { y = Scan <num_scan_inputs = 2, body = step (float[2] p, float[2] q) => (s) { s = Add (p, q) }> (a, b) }",
                r#"(string[n] x) => (y) { y = ai.onnx.ml.OneHotEncoder <cats_strings: strings = ["a"], zeros: int = 0> (x) }"#,
                "(float[n, c] x) => (y) { y = ai.onnx.ml.ZipMap <classlabels_int64s: ints = [1, 0]> (x) }",
                "(float[n, c] x) => (y) { y = ai.onnx.ml.SVMRegressor <coefficients: floats = [1.0], support_vectors: floats = [1.0, 2.0], n_supports: int = 1, rho: floats = [0.0], kernel_params: floats = [1.0, 0.0, 3.0]> (x) }",
                "(float[n, 1] a, float[1, m] b) => (y) { y = Add (a, b) }",
                "(float[n, 1] a, int64[2] s) => (y) { t = ConstantOfShape (s) y = EyeLike (t) }",
                "(int64 n) => (y) { y = BlackmanWindow (n) }",
                r#"(float[n, 2] x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets: int = 1, nodes_treeids: ints = [0], nodes_nodeids: ints = [0], nodes_featureids: ints = [0], nodes_modes: strings = ["LEAF"], nodes_values: floats = [0.0], nodes_truenodeids: ints = [0], nodes_falsenodeids: ints = [0], target_treeids: ints = [0], target_nodeids: ints = [0], target_ids: ints = [0], target_weights: floats = [1.0]> (x) }"#,
            ],
            expect![[r#"
                "y" , "Add"
                "y" , "Gemm"
                "y" , "RNN"
                "y" , "LSTM"
                "y" , "GRU"
                "y" , "Resize"
                "y" , "Scan"
                "y" , "ai.onnx.ml.OneHotEncoder"
                "y" , "ai.onnx.ml.ZipMap"
                "y" , "ai.onnx.ml.SVMRegressor"
                "y" , "Add"
                "t" , "ConstantOfShape"; "y" , "EyeLike"
                "y" , "BlackmanWindow"
                "y" , "ai.onnx.ml.TreeEnsembleRegressor"
            "#]],
        );
    }

    #[test]
    fn names_are_one_line_of_a_length() {
        let long = "n".repeat(5000);
        named(
            &[
                &format!("(float[n] a, float[m] b) => (\"{long}\") {{ \"{long}\" = Add (a, b) }}"),
                "(float[n] a, float[m] b) => (\"a\u{202e}b\") { \"a\u{202e}b\" = Add (a, b) }",
            ],
            expect![[r#"
                "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…nnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" , "Add"
                "a\\u{202e}b" , "Add"
            "#]],
        );
    }
}
