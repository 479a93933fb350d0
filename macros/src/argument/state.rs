//! The option `state`.

use onnx_embed_ir::options::Step;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Ident, Token, parenthesized, token};

use super::Key;

/// Parses `input = output`, or `input = first(output)`.
pub fn pair(input: ParseStream<'_>) -> syn::Result<(Key, Key, Step)> {
    let name: Key = input.parse()?;
    input.parse::<Token![=]>()?;
    if !input.peek2(token::Paren) {
        return Ok((name, input.parse()?, Step::Last));
    }
    let word: Ident = input.call(Ident::parse_any)?;
    if word != "first" {
        return Err(syn::Error::new(word.span(), "expected `first(..)` or the name of an output"));
    }
    let output;
    parenthesized!(output in input);
    let key = output.parse()?;
    match output.is_empty() {
        true => Ok((name, key, Step::First)),
        false => Err(output.error("expected one name of an output")),
    }
}
