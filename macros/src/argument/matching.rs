//! The option `match`: files that a program loads.

use onnx_embed_ir::options::{Options, Weights};
use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{LitStr, Token};

/// Name of the option.
pub const OPTION: &str = "match";

/// Parses `= "structure"` or `= "bytes"`. Returns `true` for the first, and the span of the value.
pub fn structure(input: ParseStream<'_>) -> syn::Result<(bool, Span)> {
    input.parse::<Token![=]>()?;
    let value: LitStr = input.parse()?;
    match value.value().as_str() {
        "structure" if cfg!(not(feature = "structure")) => {
            let message = "`match = \"structure\"` needs the feature `structure` of onnx-embed";
            Err(syn::Error::new(value.span(), message))
        }
        "structure" => Ok((true, value.span())),
        "bytes" => Ok((false, value.span())),
        other => {
            let message = format!("`match` is {other:?}, expected \"bytes\" or \"structure\"");
            Err(syn::Error::new(value.span(), message))
        }
    }
}

/// Fails if other options exclude this one.
pub fn check(options: &Options, span: Option<&Span>) -> syn::Result<()> {
    let message = match options {
        Options { structure: false, .. } => return Ok(()),
        Options { weights: Weights::Embed, .. } => {
            "`match = \"structure\"` needs `weights = \"file\"`, because the code depends on values of embedded weights"
        }
        Options { outputs, .. } if !outputs.names.is_empty() => {
            "`match = \"structure\"` cannot be combined with `outputs(..)`, which names values of the compiled file"
        }
        _ => return Ok(()),
    };
    Err(syn::Error::new(span.copied().unwrap_or_else(Span::call_site), message))
}

#[cfg(test)]
mod tests {
    use onnx_embed_ir::options::Outputs;

    use super::*;

    #[test]
    fn other_options_exclude_it() {
        let check = |options: &Options| check(options, None).map_err(|error| error.to_string());
        let structure = Options { structure: true, weights: Weights::File, ..Options::default() };
        assert_eq!(check(&structure), Ok(()));
        let embedded = Options { weights: Weights::Embed, ..structure.clone() };
        assert!(check(&embedded).unwrap_err().contains("needs `weights = \"file\"`"));
        let outputs = Outputs { names: vec!["h".to_owned()], rest: true };
        let chosen = Options { outputs, ..structure };
        assert!(check(&chosen).unwrap_err().contains("`outputs(..)`"));
    }
}
