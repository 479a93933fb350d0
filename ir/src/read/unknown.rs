//! Problems of operators that cannot be found.

use crate::diagnostics::Problem;
use crate::files::distance;
use crate::ops;
use crate::ops::kind;

/// Reports an operator whose domain the file does not import.
pub fn not_imported(domain: &str) -> Problem {
    let shown = if domain.is_empty() { "ai.onnx" } else { domain };
    let message = format!("the file does not say which version of the domain `{shown}` it uses");
    Problem::new(message).help("the file is inconsistent; export the model again")
}

/// Reports an operator that the imported opset no longer contains.
pub fn removed(kind: &str, version: i64, instead: &str) -> Problem {
    let last = version.saturating_sub(1);
    let message = format!("operator `{kind}` exists up to opset {last}, the model imports a newer one");
    let help = format!("export the model again, with `{instead}` or for an older opset");
    Problem::new(message).help(help)
}

/// Returns the help for an operator that does not exist. Similar names are searched if `compared`.
pub fn help(domain: &str, name: &str, compared: bool) -> String {
    match (ops::spelling(domain, name), domain) {
        (Some(known), _) => return format!("its name is written `{known}`"),
        _ if !compared => {}
        _ => {
            if let Some(near) = near(domain, name) {
                return format!("did you mean {near}?");
            }
        }
    }
    match domain {
        "" | ops::ML | ops::MICROSOFT => "`cargo onnx-embed operators` lists what is; export the \
             model with another opset, exporter or setting"
            .to_owned(),
        _ => format!(
            "`{domain}` is a custom domain: rewrite the node with standard operators, \
             or add a function that defines it to the model"
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
