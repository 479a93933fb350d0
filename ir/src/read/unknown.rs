//! Problems of operators that cannot be found.

use crate::diagnostics::Problem;
use crate::files::distance;
use crate::ops;
use crate::ops::kind;

/// Reports an operator whose domain the file does not import.
pub fn not_imported(domain: &str) -> Problem {
    let shown = if domain.is_empty() { "ai.onnx" } else { domain };
    let message = format!("the file does not specify the opset of domain `{shown}`");
    Problem::new(message).inconsistent()
}

/// Reports an operator that was removed in a `version` before the imported `opset`.
pub fn removed(kind: &str, (version, opset): (i64, i64), instead: &str) -> Problem {
    let message =
        format!("operator `{kind}` was removed in opset {version}, but the model uses opset {opset}");
    let help = format!("export the model with `{instead}`, or with an older opset");
    Problem::new(message).help(help)
}

/// Operators of com.microsoft that are not supported, with the reason and another form of the model.
const REASONS: [(&str, &str); 3] = [
    (
        "DecoderMaskedMultiHeadAttention",
        "it updates caches in place, in a layout that depends on the device; export the decoder with \
         `MultiHeadAttention` or `GroupQueryAttention`, which return their caches",
    ),
    (
        "PagedAttention",
        "a scheduler shares its pages of caches between requests; export the model with \
         `GroupQueryAttention`, which returns its caches",
    ),
    (
        "SparseAttention",
        "it updates caches in place, and reads blocks of keys that a table lists; export the model with \
         `GroupQueryAttention` and an attention bias",
    ),
];

/// Returns the help for an operator that does not exist. Similar names are searched if `compared`.
pub fn help(domain: &str, name: &str, compared: bool) -> String {
    let reason = REASONS.iter().find(|(operator, _)| domain == ops::MICROSOFT && *operator == name);
    if let Some((_, reason)) = reason {
        return (*reason).to_owned();
    }
    match (ops::spelling(domain, name), domain) {
        (Some(known), _) => return format!("did you mean `{known}`?"),
        _ if !compared => {}
        _ => {
            if let Some(near) = near(domain, name) {
                return format!("did you mean {near}?");
            }
        }
    }
    match domain {
        "" | ops::ML | ops::MICROSOFT => "run `cargo onnx-embed operators` to list the supported operators; \
             export the model with another opset, exporter or export option"
            .to_owned(),
        _ => format!(
            "rewrite the node with standard operators, or define the operator in the model, as a function of the \
             domain `{domain}`"
        ),
    }
}

/// Returns the operator with this name in another domain, else the one with the most similar name in this domain.
fn near(domain: &str, name: &str) -> Option<String> {
    let named = ops::all().filter(|row| row.name == name && is_taken_for(domain, row.domain));
    let domains = named.map(|row| match row.domain {
        "" => "ai.onnx",
        domain => domain,
    });
    if let Some(domain) = domains.min_by_key(|meant| distance(domain, meant)) {
        return Some(format!("`{name}` of the domain `{domain}`"));
    }
    let length = name.chars().count();
    let rows = ops::all().filter(|row| row.domain == domain && row.name.len().abs_diff(name.len()) <= 2);
    let far = |row: &&ops::Row| distance(&row.name.to_lowercase(), &name.to_lowercase());
    let nearest = rows.min_by_key(far)?;
    (far(&nearest) <= 2.min(length / 3)).then(|| format!("`{}`", kind(domain, nearest.name)))
}

/// Returns `true` if a writer may have confused two domains: the written one is ONNX's or Microsoft's, or is similar to
/// a known one.
fn is_taken_for(written: &str, meant: &str) -> bool {
    let of_onnx = |domain: &str| domain.is_empty() || domain.starts_with("ai.onnx");
    let known = [ops::MICROSOFT, "ai.onnx", ops::ML];
    let near = known.iter().any(|known| distance(written, known) <= 2);
    written != meant && (of_onnx(written) || written == ops::MICROSOFT || near)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn operators_that_update_caches_in_place_have_a_reason() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            g (float16[t, 32] q) => (float16[t, 32] y) {
                y = com.microsoft.PagedAttention <num_heads = 2, kv_num_heads = 2> (q)
            }"#,
            expect![[r#"
                cannot compile `model`

                  operator `com.microsoft.PagedAttention` is not supported
                    at node `y` (com.microsoft.PagedAttention opset 1)
                    help: a scheduler shares its pages of caches between requests; export the model with `GroupQueryAttention`, which returns its caches
                          or bind it to a function: #[onnx(ops("com.microsoft.PagedAttention" = crate::paged_attention))], fn paged_attention(x: Tensor<2>, kv_num_heads: i64, num_heads: i64) -> Tensor<2>

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
