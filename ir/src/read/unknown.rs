//! What to say about operators that cannot be found.

use super::kind;
use crate::diagnostics::Problem;
use crate::ops;

/// An operator of a domain that the file does not import.
pub fn not_imported(domain: &str) -> Problem {
    let shown = if domain.is_empty() { "ai.onnx" } else { domain };
    let message = format!("the file does not say which version of the domain `{shown}` it uses");
    Problem::new(message).help("the file is inconsistent; export the model again")
}

/// An operator that there is not.
pub fn unsupported(domain: &str, name: &str) -> Problem {
    let kind = kind(domain, name);
    let problem = Problem::new(format!("operator `{kind}` is not supported"));
    match (ops::spelling(domain, name), domain) {
        (Some(known), _) => problem.help(format!("its name is written `{known}`")),
        (_, "" | "ai.onnx.ml" | "com.microsoft") => problem.help(
            "OPERATORS.md lists what is; export the model with another opset, exporter or setting",
        ),
        _ => problem.help(format!(
            "`{domain}` is a custom domain: rewrite the node with standard operators, \
             or add a function that defines it to the model"
        )),
    }
}
