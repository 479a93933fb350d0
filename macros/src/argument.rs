//! The grammar of `onnx_model!`.

mod location;
mod matching;
mod memory;
mod operator;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_embed_ir::files::signed;
use onnx_embed_ir::options::{Kept, Options, Precision, Size, Step, Weights};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitBool, LitInt, LitStr, Path, Token, Visibility, bracketed, parenthesized};

/// Arguments of a call of the macro.
pub struct Arguments {
    /// Documentation and attributes other than `#[onnx(..)]`.
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    pub name: Ident,
    pub path: LitStr,
    /// Whether the call is the short form, whose item has no name of its own.
    pub short: bool,
    pub options: Options,
    /// Path of the public key of the model's signatures.
    pub key: Option<LitStr>,
    /// Span of each name in `dims(..)`, `inputs(..)`, `outputs(..)` and `ops(..)`, and of the path of the key.
    pub keys: BTreeMap<String, Span>,
    /// Functions in `ops(..)`, by the name of their operator.
    pub functions: BTreeMap<String, TokenStream>,
    /// Path of the run-time crate, if the caller specifies one.
    pub runtime: Option<Path>,
}

/// Returns the name of the item in arguments that cannot be parsed.
pub fn name(input: TokenStream) -> Ident {
    let mut tokens = input.into_iter();
    let found = tokens.find(|token| matches!(token, TokenTree::Ident(word) if word == "struct"));
    match (found, tokens.next()) {
        (Some(_), Some(TokenTree::Ident(name))) => name,
        _ => Ident::new("Model", Span::call_site()),
    }
}

/// One option of `#[onnx(..)]`.
enum Choice {
    Weights(Weights),
    Dims(Vec<(Key, i64)>),
    Inputs(Vec<(Key, Vec<Size>)>),
    Runtime(Path),
    Simplify(bool),
    Precision(Precision),
    Train(bool),
    Operators(Vec<(Key, operator::Function)>),
    /// Names of values, and whether the outputs of the file follow them.
    Outputs(Vec<Key>, bool),
    Trace(bool),
    MemoryLimit(u64),
    Deterministic(bool),
    Signature(LitStr),
    /// Whether files of other exporters are loaded, and the span of the option.
    Structure(bool, Span),
    Licenses(Vec<String>),
    States(Vec<(Key, Key, Step)>),
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Arguments {
            attributes: Vec::new(),
            visibility: syn::parse_quote!(pub),
            name: Ident::new("Model", Span::call_site()),
            path: LitStr::new("", Span::call_site()),
            short: false,
            options: Options { training: cfg!(feature = "autodiff"), ..Options::default() },
            key: None,
            keys: BTreeMap::new(),
            functions: BTreeMap::new(),
            runtime: None,
        };
        for attribute in input.call(Attribute::parse_outer)? {
            if attribute.path().is_ident("onnx") {
                arguments.options(&attribute)?
            } else {
                arguments.attributes.push(attribute)
            }
        }
        arguments.short = location::is_next(input);
        if !arguments.short {
            arguments.visibility = input.parse()?;
            input.parse::<Token![struct]>().map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "expected the path of a model, as in `onnx_model!(\"model.onnx\")`, \
                     or `pub struct Name = \"model.onnx\";`",
                )
            })?;
            arguments.name = input.parse()?;
            let equals = input.parse::<Token![=]>();
            equals.map_err(|error| {
                let message = "expected `=` and the path of a model, as in `struct Name = \"model.onnx\";`";
                syn::Error::new(error.span(), message)
            })?;
        }
        arguments.path = location::location(input)?;
        input.parse::<Option<Token![;]>>()?;
        matching::check(&arguments.options, arguments.keys.get(matching::OPTION))?;
        if input.is_empty() {
            Ok(arguments)
        } else {
            Err(input.error("unexpected token after the path; options go before it, in `#[onnx(..)]`"))
        }
    }
}

impl Arguments {
    fn options(&mut self, attribute: &Attribute) -> syn::Result<()> {
        let choices = attribute.parse_args_with(Punctuated::<Choice, Token![,]>::parse_terminated)?;
        for choice in choices {
            match choice {
                Choice::Weights(weights) => self.options.weights = weights,
                Choice::Dims(dims) => {
                    for (key, size) in dims {
                        let previous = self.options.dims.insert(key.name.clone(), size);
                        self.note(key, previous.is_some())?;
                    }
                }
                Choice::Inputs(inputs) => {
                    for (key, sizes) in inputs {
                        let previous = self.options.inputs.insert(key.name.clone(), sizes);
                        self.note(key, previous.is_some())?;
                    }
                }
                Choice::Runtime(path) => self.runtime = Some(path),
                Choice::Simplify(simplify) => self.options.simplify = simplify,
                Choice::Precision(precision) => self.options.precision = precision,
                Choice::Train(train) => self.options.training = train,
                Choice::Operators(operators) => {
                    for (key, operator::Function { path, binding }) in operators {
                        let previous = self.options.operators.insert(key.name.clone(), binding);
                        self.functions.insert(key.name.clone(), path);
                        self.note(key, previous.is_some())?;
                    }
                }
                Choice::Outputs(names, rest) => {
                    self.options.outputs.rest = rest;
                    for key in names {
                        let again = self.options.outputs.names.contains(&key.name);
                        self.options.outputs.names.push(key.name.clone());
                        self.note(key, again)?;
                    }
                }
                Choice::Trace(trace) => self.options.trace = trace,
                Choice::Deterministic(deterministic) => self.options.deterministic = deterministic,
                Choice::MemoryLimit(bytes) => self.options.memory_limit = Some(bytes),
                Choice::Signature(key) => {
                    self.keys.insert(signed::OPTION.to_owned(), key.span());
                    self.key = Some(key);
                }
                Choice::Structure(structure, span) => {
                    self.options.structure = structure;
                    self.keys.insert(matching::OPTION.to_owned(), span);
                }
                Choice::States(states) => {
                    for (key, output, step) in states {
                        let kept = Kept { input: key.name.clone(), output: output.name, step };
                        let again = self.options.states.iter().any(|other| other.input == kept.input);
                        self.options.states.push(kept);
                        self.note(key, again)?;
                    }
                }
                Choice::Licenses(licenses) => {
                    Arc::make_mut(self.options.licenses.get_or_insert_default()).extend(licenses)
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, key: Key, again: bool) -> syn::Result<()> {
        if again {
            let message = format!("`{}` is specified twice", key.name);
            return Err(syn::Error::new(key.span, message));
        }
        self.keys.insert(key.name, key.span);
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
                        format!("`weights` is {other:?}, expected \"embed\" or \"file\""),
                    )),
                }
            }
            "crate" => {
                input.parse::<Token![=]>()?;
                Ok(Choice::Runtime(input.call(Path::parse_mod_style)?))
            }
            "simplify" => Ok(Choice::Simplify(flag(input, "simplify")?)),
            "precision" => {
                input.parse::<Token![=]>()?;
                let value: LitStr = input.parse()?;
                let named = value.value();
                let found = Precision::ALL.iter().find(|(name, _)| *name == named);
                found.map(|(_, precision)| Choice::Precision(*precision)).ok_or_else(|| {
                    let message =
                        format!("`precision` is {named:?}, expected \"as-is\", \"f16\" or \"bf16\"");
                    syn::Error::new(value.span(), message)
                })
            }
            "train" => Ok(Choice::Train(flag(input, "train")?)),
            "ops" => Ok(Choice::Operators(entries(input, operator::binding)?)),
            "trace" if input.peek(Token![=]) => Ok(Choice::Trace(flag(input, "trace")?)),
            "trace" => Ok(Choice::Trace(true)),
            "deterministic" => {
                let is_on = !input.peek(Token![=]) || flag(input, "deterministic")?;
                if is_on && cfg!(not(feature = "deterministic")) {
                    let message = "`deterministic` needs the feature `deterministic` of onnx-embed";
                    return Err(syn::Error::new(name.span(), message));
                }
                Ok(Choice::Deterministic(is_on))
            }
            "memory_limit" => memory::limit(input).map(Choice::MemoryLimit),
            signed::OPTION => {
                input.parse::<Token![=]>()?;
                Ok(Choice::Signature(input.parse()?))
            }
            matching::OPTION => {
                matching::structure(input).map(|(structure, span)| Choice::Structure(structure, span))
            }
            "licenses" => licenses(input, name.span()),
            "state" => Ok(Choice::States(entries(input, state::pair)?)),
            "outputs" => outputs(input, name.span()),
            "dims" => {
                let dims = entries(input, |input| {
                    let name: Key = input.parse()?;
                    input.parse::<Token![=]>()?;
                    Ok((name, number(input)?))
                })?;
                Ok(Choice::Dims(dims))
            }
            "inputs" => {
                let inputs = entries(input, |input| {
                    let name: Key = input.parse()?;
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
                    "unknown option `{other}`, expected `weights`, `dims`, `inputs`, `outputs`, `ops`, \
                     `simplify`, `precision`, `train`, `trace`, `memory_limit`, `deterministic`, `signature`, \
                     `match`, `licenses`, `state` or `crate`"
                ),
            )),
        }
    }
}

/// A name in the file: an identifier, or a string if it is not one.
pub struct Key {
    pub name: String,
    span: Span,
}

impl Parse for Key {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        let name = if input.peek(LitStr) {
            input.parse::<LitStr>()?.value()
        } else {
            input.call(Ident::parse_any)?.unraw().to_string()
        };
        Ok(Key { name, span })
    }
}

/// A size: a number or a name.
pub struct Extent(pub Size);

impl Parse for Extent {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitInt) {
            number(input).map(|number| Extent(Size::Fixed(number)))
        } else {
            Ok(Extent(Size::Named(input.parse::<Key>()?.name)))
        }
    }
}

/// Parses `("/conv/output", ..)`: names of values, and `..` if the outputs of the file follow them.
fn outputs(input: ParseStream<'_>, span: Span) -> syn::Result<Choice> {
    let list;
    parenthesized!(list in input);
    let mut names: Vec<Key> = Vec::new();
    let mut rest = false;
    while !list.is_empty() {
        if list.peek(Token![..]) {
            list.parse::<Token![..]>()?;
            rest = true;
            list.parse::<Option<Token![,]>>()?;
            if !list.is_empty() {
                return Err(list.error("`..` must be last: it appends the outputs of the file"));
            }
            break;
        }
        names.push(list.parse()?);
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    if names.is_empty() {
        let message = "expected the names of values, as in `outputs(\"/conv2/Conv_output_0\", ..)`";
        return Err(syn::Error::new(span, message));
    }
    Ok(Choice::Outputs(names, rest))
}

/// Parses `("MIT", "Apache-2.0")`.
fn licenses(input: ParseStream<'_>, span: Span) -> syn::Result<Choice> {
    let list;
    parenthesized!(list in input);
    let names = list.call(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
    let names: Vec<String> = names.iter().map(LitStr::value).collect();
    if names.is_empty() || names.iter().any(|name| name.trim().is_empty()) {
        let message = "expected the names of licenses, as in `licenses(\"MIT\", \"Apache-2.0\")`";
        return Err(syn::Error::new(span, message));
    }
    Ok(Choice::Licenses(names))
}

fn entries<T>(input: ParseStream<'_>, entry: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<Vec<T>> {
    let list;
    parenthesized!(list in input);
    let entries = list.parse_terminated(entry, Token![,])?;
    Ok(entries.into_iter().collect())
}

/// Parses `= true` or `= false`.
fn flag(input: ParseStream<'_>, name: &str) -> syn::Result<bool> {
    input.parse::<Token![=]>()?;
    let span = input.span();
    let value = input.parse::<LitBool>();
    let wrong = |_| syn::Error::new(span, format!("expected `{name} = true` or `{name} = false`"));
    value.map(|value| value.value).map_err(wrong)
}

fn number(input: ParseStream<'_>) -> syn::Result<i64> {
    let wrong = |span| syn::Error::new(span, "expected a size: an integer from 0 to 4294967295");
    let span = input.span();
    let literal: LitInt = input.parse().map_err(|_| wrong(span))?;
    let size = literal.base10_parse::<u32>();
    size.map(i64::from).map_err(|_| wrong(span))
}
