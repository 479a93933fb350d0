//! The option `ops`: functions that compute operators.

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::options::{Binding, Declared, DeclaredShape, Size, operator_name};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, Path, Token, bracketed, parenthesized, token};

use super::{Extent, Key};

/// A function that computes an operator, and its declared results.
pub struct Function {
    /// Path of the function, relative to the module of the model.
    pub path: TokenStream,
    pub binding: Binding,
}

/// Parses `"domain.Name" = path`, and the results that follow `->`, if any.
pub fn binding(input: ParseStream<'_>) -> syn::Result<(Key, Function)> {
    let mut key: Key = input.parse()?;
    key.name = operator_name(&key.name).to_owned();
    input.parse::<Token![=]>()?;
    let path = inside(&input.call(Path::parse_mod_style)?);
    let results = if input.parse::<Option<Token![->]>>()?.is_some() { results(input)? } else { Vec::new() };
    let function = path.to_string();
    let binding = Binding { function, results };
    Ok((key, Function { path, binding }))
}

/// Returns the path relative to the module of the model, which is a child of the calling module.
fn inside(path: &Path) -> TokenStream {
    let first = path.segments.first();
    let rest = path.segments.iter().skip(1);
    match first.filter(|_| path.leading_colon.is_none()) {
        Some(first) if first.ident == "self" => {
            let word = quote_spanned!(first.ident.span() => super);
            quote_spanned!(first.ident.span() => #word #(::#rest)*)
        }
        Some(first) if first.ident != "crate" => {
            let word = quote_spanned!(first.ident.span() => super);
            let path = path.to_token_stream();
            quote_spanned!(first.ident.span() => #word::#path)
        }
        _ => path.to_token_stream(),
    }
}

/// Parses one result, or several in parentheses.
fn results(input: ParseStream<'_>) -> syn::Result<Vec<Declared>> {
    if !input.peek(token::Paren) {
        return Ok(vec![result(input)?]);
    }
    let list;
    parenthesized!(list in input);
    let results = list.parse_terminated(result, Token![,])?;
    Ok(results.into_iter().collect())
}

/// Parses `[batch, 10]` or `like(0)`, with an element type before it if there is one: `int64[batch]`.
fn result(input: ParseStream<'_>) -> syn::Result<Declared> {
    let mut element = None;
    if input.peek(Ident) && !is_like(input) {
        element = Some(dtype(&input.parse()?)?);
    }
    let shape = if is_like(input) {
        input.parse::<Ident>()?;
        let number;
        parenthesized!(number in input);
        DeclaredShape::Like(number.parse::<LitInt>()?.base10_parse()?)
    } else if input.peek(token::Bracket) {
        let sizes;
        bracketed!(sizes in input);
        let sizes = sizes.call(Punctuated::<Extension, Token![,]>::parse_terminated)?;
        DeclaredShape::Sizes(sizes.into_iter().map(|size| size.0).collect())
    } else {
        return Err(input.error(
            "expected the type of the result, as in `-> float32[batch, 10]`, `-> int64 like(0)` or \
             `-> (like(0), [_, 10])`",
        ));
    };
    Ok(Declared { element, shape })
}

/// Returns `true` if the next tokens are `like(..)`.
fn is_like(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.parse::<Ident>().is_ok_and(|word| word == "like") && ahead.peek(token::Paren)
}

fn dtype(word: &Ident) -> syn::Result<DType> {
    let name = word.unraw().to_string();
    DType::named(&name).ok_or_else(|| {
        let message = format!(
            "unknown element type `{name}`, expected an ONNX type such as `float32`, `float16`, `int64`, `bool` or \
             `string`"
        );
        syn::Error::new(word.span(), message)
    })
}

/// A size: a number, a name, or `_` for the size of the first input along the same axis.
struct Extension(Option<Size>);

impl Parse for Extension {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.parse::<Option<Token![_]>>()?.is_some() {
            Ok(Extension(None))
        } else {
            input.parse::<Extent>().map(|size| Extension(Some(size.0)))
        }
    }
}
