//! The grammar of `onnx_model!`.

use onnx_embed_ir::options::{Options, Size, Weights};
use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitInt, LitStr, Path, Token, Visibility, bracketed, parenthesized};

/// What stands between the braces of a call.
pub struct Arguments {
    /// Documentation and attributes other than `#[onnx(..)]`.
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    pub name: Ident,
    pub path: LitStr,
    pub options: Options,
    /// The path of the run-time crate.
    pub runtime: Path,
}

/// One option of `#[onnx(..)]`.
enum Choice {
    Weights(Weights),
    Dims(Vec<(String, i64)>),
    Inputs(Vec<(String, Vec<Size>)>),
    Runtime(Path),
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Arguments {
            attributes: Vec::new(),
            visibility: syn::parse_quote!(pub),
            name: Ident::new("Model", Span::call_site()),
            path: LitStr::new("", Span::call_site()),
            options: Options::default(),
            runtime: syn::parse_quote!(::onnx_embed),
        };
        for attribute in input.call(Attribute::parse_outer)? {
            match attribute.path().is_ident("onnx") {
                true => arguments.options(&attribute)?,
                false => arguments.attributes.push(attribute),
            }
        }
        if !input.peek(LitStr) {
            arguments.visibility = input.parse()?;
            input.parse::<Token![struct]>().map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "expected the path of a model, as in `onnx_model!(\"model.onnx\")`, \
                     or `pub struct Name = \"model.onnx\";`",
                )
            })?;
            arguments.name = input.parse()?;
            input.parse::<Token![=]>()?;
        }
        arguments.path = input.parse()?;
        input.parse::<Option<Token![;]>>()?;
        match input.is_empty() {
            true => Ok(arguments),
            false => Err(input.error(
                "expected nothing after the path; options stand before it, in `#[onnx(..)]`",
            )),
        }
    }
}

impl Arguments {
    fn options(&mut self, attribute: &Attribute) -> syn::Result<()> {
        let choices =
            attribute.parse_args_with(Punctuated::<Choice, Token![,]>::parse_terminated)?;
        for choice in choices {
            match choice {
                Choice::Weights(weights) => self.options.weights = weights,
                Choice::Dims(dims) => self.options.dims.extend(dims),
                Choice::Inputs(inputs) => self.options.inputs.extend(inputs),
                Choice::Runtime(path) => self.runtime = path,
            }
        }
        Ok(())
    }
}

impl Parse for Choice {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        match name.to_string().as_str() {
            "weights" => {
                input.parse::<Token![=]>()?;
                let value: LitStr = input.parse()?;
                match value.value().as_str() {
                    "embed" => Ok(Choice::Weights(Weights::Embed)),
                    "file" => Ok(Choice::Weights(Weights::File)),
                    other => Err(syn::Error::new(
                        value.span(),
                        format!("weights are \"embed\" or \"file\", not {other:?}"),
                    )),
                }
            }
            "crate" => {
                input.parse::<Token![=]>()?;
                Ok(Choice::Runtime(input.call(Path::parse_mod_style)?))
            }
            "dims" => {
                let dims = entries(input, |input| {
                    let name = key(input)?;
                    input.parse::<Token![=]>()?;
                    Ok((name, number(input)?))
                })?;
                Ok(Choice::Dims(dims))
            }
            "inputs" => {
                let inputs = entries(input, |input| {
                    let name = key(input)?;
                    input.parse::<Token![:]>()?;
                    let sizes;
                    bracketed!(sizes in input);
                    let sizes = sizes.call(Punctuated::<Extent, Token![,]>::parse_terminated)?;
                    Ok((name, sizes.into_iter().map(|extent| extent.0).collect()))
                })?;
                Ok(Choice::Inputs(inputs))
            }
            other => Err(syn::Error::new(
                name.span(),
                format!(
                    "unknown option `{other}`; there are `weights`, `dims`, `inputs` and `crate`"
                ),
            )),
        }
    }
}

/// One size: a number or a name.
struct Extent(Size);

impl Parse for Extent {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        match input.peek(LitInt) {
            true => number(input).map(|number| Extent(Size::Fixed(number))),
            false => key(input).map(|name| Extent(Size::Named(name))),
        }
    }
}

fn entries<T>(
    input: ParseStream<'_>,
    entry: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    let list;
    parenthesized!(list in input);
    let entries = list.parse_terminated(entry, Token![,])?;
    Ok(entries.into_iter().collect())
}

/// A name of the file: an identifier, or a string where it is none.
fn key(input: ParseStream<'_>) -> syn::Result<String> {
    match input.peek(LitStr) {
        true => Ok(input.parse::<LitStr>()?.value()),
        false => Ok(input.call(Ident::parse_any)?.to_string()),
    }
}

fn number(input: ParseStream<'_>) -> syn::Result<i64> {
    let literal: LitInt = input.parse()?;
    let size = literal.base10_parse::<u32>();
    let wrong = |_| syn::Error::new(literal.span(), "expected a size that is not negative");
    size.map(i64::from).map_err(wrong)
}
