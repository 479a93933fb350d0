//! Words in names of the file.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::name::{operator, snake};
use super::tree::is_number;
use crate::ops;

/// Maximum number of characters of a name that is made of words.
const MAX_NAME_LEN: usize = 24;
/// Maximum number of words in a name.
const MAX_WORDS: usize = 3;
/// Number of components at the end of a layer's path that are searched for a name of its result.
const AROUND: usize = 3;

/// Words without information about a value: placeholders of exporters, and functions of their frameworks. Names of
/// operators are generic, too, except for [`NOUNS`].
const GENERIC: &[&str] = &[
    "act",
    "activation",
    "addmm",
    "arange",
    "array",
    "aten",
    "avgpool",
    "baddbmm",
    "batch",
    "bias",
    "biasadd",
    "block",
    "bmm",
    "bn",
    "call",
    "chunk",
    "clone",
    "const",
    "contiguous",
    "conv",
    "convolution",
    "copy",
    "data",
    "dense",
    "detach",
    "dims",
    "fc",
    "floordiv",
    "fn",
    "forward",
    "func",
    "fused",
    "fwd",
    "getitem",
    "group",
    "in",
    "input",
    "inputs",
    "inter",
    "kernel",
    "layer",
    "layers",
    "linear",
    "lin",
    "ln",
    "matrix",
    "maxpool",
    "mm",
    "model",
    "module",
    "new",
    "node",
    "norm",
    "op",
    "out",
    "output",
    "outputs",
    "permute",
    "pool",
    "proj",
    "projection",
    "res",
    "result",
    "ret",
    "rms",
    "seq",
    "sequential",
    "strided",
    "tensor",
    "temp",
    "tmp",
    "to",
    "truediv",
    "type",
    "unbind",
    "unnamed",
    "val",
    "var",
    "variable",
    "view",
    "weight",
];

/// Operators that are good names for their results.
const NOUNS: &[&str] = &["attention", "cos", "max", "mean", "min", "sin", "sum"];

/// Modules that do not change the meaning of a value.
const NORMS: &[&str] =
    &["batchnorm", "bn", "dropout", "groupnorm", "layernorm", "ln", "norm", "normalization", "rmsnorm"];

/// Returns the words in the name of a value: `cos` for `/rotary/cos_output_0`, `None` for `/attn/MatMul_3` and
/// `onnx::Add_12`.
pub fn of_value(name: &str) -> Option<String> {
    if name.contains("::") {
        return None;
    }
    let last = name.rsplit('/').next()?;
    let last = last.split(':').next()?;
    let last = match last.rsplit_once("_output_") {
        Some((node, number)) if is_number(number) => node,
        _ => last,
    };
    let words = words(last)?;
    let generic = |word: &String| is_generic(word) || word == "value";
    let says = !words.iter().all(generic) && !is_generic(&words.concat());
    says.then(|| words.join("_")).and_then(fitting)
}

/// Returns a name for the result of a layer, from its own name or that of a module around it: `query` for
/// `attention.self.query`, `gate` for `mlp.gate_proj`, `mlp` for `mlp.fc1`.
pub fn of_layer(path: &str) -> Option<String> {
    let parts = path.rsplit(['.', '/']).filter(|part| !is_number(part));
    for part in parts.take(AROUND) {
        let stem = part.trim_end_matches(|end: char| end.is_ascii_digit());
        let mut words = words(stem)?;
        if words.last().is_some_and(|last| NORMS.contains(&&**last)) {
            return None;
        }
        let numbered = stem.len() < part.len();
        while words.last().is_some_and(|last| is_generic(last)) {
            words.pop();
        }
        if !words.is_empty() {
            // `cv2` and `stage3` only number items.
            return (!numbered).then(|| words.join("_")).and_then(fitting);
        }
    }
    None
}

/// Returns the usual name for the result of an operator, if any.
pub fn of_operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "ArgMax" | "ArgMin" => "index",
        "ReduceMean" => "mean",
        "ReduceSum" => "sum",
        "ReduceMax" => "max",
        "ReduceMin" => "min",
        "Softmax" => "probabilities",
        "Attention" | "MultiHeadAttention" | "GroupQueryAttention" | "JoinedAttention" => "attention",
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" | "Not"
        | "IsNaN" | "IsInf" => "mask",
        _ => return None,
    })
}

/// Returns the maximum number of inputs with which the result of an operator is another form of the first input, and
/// may have its name.
pub fn kept(kind: &str) -> usize {
    const FORMS: &[&str] = &[
        "Cast",
        "CastLike",
        "Expand",
        "Flatten",
        "Identity",
        "Reshape",
        "JoinedRotaryEmbedding",
        "RotaryEmbedding",
        "Squeeze",
        "Transpose",
        "Unsqueeze",
    ];
    if FORMS.contains(&operator(kind)) { usize::MAX } else { usize::from(ops::facts(kind).elementwise) }
}

/// Returns the words of a name without numbers, or `None` if it has no words or contains anything else.
fn words(name: &str) -> Option<Vec<String>> {
    // A name can be as long as a file.
    if name.len() > 4 * MAX_NAME_LEN {
        return None;
    }
    let name = snake(name);
    let words = name.split('_').filter(|word| !word.is_empty() && !is_number(word));
    let words: Vec<String> = words.map(str::to_owned).collect();
    let plain = |word: &String| word.chars().all(char::is_alphabetic);
    (!words.is_empty() && words.iter().all(plain)).then_some(words)
}

fn is_generic(word: &str) -> bool {
    static OPERATORS: LazyLock<HashSet<String>> =
        LazyLock::new(|| ops::all().map(|row| row.name.to_lowercase()).collect());
    // Single letters are generic, except for the usual names of queries, keys and values.
    let is_letter = word.chars().nth(1).is_none() && !["q", "k", "v"].contains(&word);
    let is_operator = OPERATORS.contains(word) && !NOUNS.contains(&word);
    is_letter || is_operator || GENERIC.contains(&word)
}

/// Converts words to an identifier that is not a keyword, or returns `None` if they are too long.
fn fitting(word: String) -> Option<String> {
    let short = word.chars().count() <= MAX_NAME_LEN && word.split('_').count() <= MAX_WORDS;
    short.then(|| snake(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(say: fn(&str) -> Option<String>, names: &[(&str, &str)]) {
        for (name, word) in names {
            assert_eq!(say(name).unwrap_or_default(), *word, "{name}");
        }
    }

    #[test]
    fn names_of_values_are_words_or_nothing() {
        check(
            of_value,
            &[
                ("cos", "cos"),
                ("q", "q"),
                ("hidden_states", "hidden_states"),
                ("/model/rotary_emb/cos_output_0", "cos"),
                ("present.0.key", "present_key"),
                ("attention_scores.3", "attention_scores"),
                ("block/probabilities:0", "probabilities"),
                ("match", "match_"),
                ("输入", "输入"),
                ("/encoder/attn/q_proj/MatMul_output_0", ""),
                ("Mul_3_output_0", ""),
                ("onnx::Add_123", ""),
                ("input.12", ""),
                ("layer_norm_4", ""),
                ("BiasAdd:0", ""),
                ("res2a_branch2a", ""),
                ("123", ""),
                ("x", ""),
                ("a_name_that_is_longer_than_words_are", ""),
            ],
        );
        assert_eq!(of_value(&"n".repeat(65_536)), None);
    }

    #[test]
    fn what_layers_give_is_called_as_they_are() {
        check(
            of_layer,
            &[
                ("layer.0.attention.self.query", "query"),
                ("layers.0.self_attn.q_proj", "q"),
                ("mlp.gate_proj", "gate"),
                ("layer.0.mlp.fc1", "mlp"),
                ("intermediate.dense", "intermediate"),
                ("attention.output.dense", "attention"),
                ("self_attn", "self_attn"),
                ("post_attention_layernorm", ""),
                ("layer1.0.conv2", ""),
                ("cv2.0.0.conv", ""),
                ("Conv_12", ""),
                ("", ""),
            ],
        );
    }
}
