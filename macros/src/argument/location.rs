//! Path of a model: a literal or a `concat!`.
//!
//! A `concat!` may contain literals and environment variables.

use onnx_embed_ir::files::variables::escaped;
use proc_macro2::Span;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Lit, LitStr, Macro, Token};

/// Parses the path. In the returned literal, variables have the form `${NAME}`.
pub fn location(input: ParseStream<'_>) -> syn::Result<LitStr> {
    if input.peek(LitStr) {
        return input.parse();
    }
    let found: Macro = input.parse()?;
    let mut text = String::new();
    append(Piece::Macro(found.clone()), &mut text)?;
    Ok(LitStr::new(&text, span(&found)))
}

/// Returns `true` if the next tokens are a path, not an item.
pub fn is_next(input: ParseStream<'_>) -> bool {
    input.peek(LitStr) || input.peek(syn::Ident) && input.peek2(Token![!])
}

enum Piece {
    Literal(Lit),
    Macro(Macro),
}

impl Parse for Piece {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        if input.peek(Lit) {
            input.parse().map(Piece::Literal)
        } else {
            input.parse().map(Piece::Macro).map_err(|_| unknown(span))
        }
    }
}

fn append(piece: Piece, text: &mut String) -> syn::Result<()> {
    match piece {
        Piece::Literal(Lit::Str(literal)) => text.push_str(&escaped(&literal.value())),
        Piece::Literal(Lit::Char(literal)) => text.push_str(&escaped(&literal.value().to_string())),
        Piece::Literal(Lit::Bool(literal)) => text.push_str(&literal.value.to_string()),
        Piece::Literal(Lit::Int(literal)) => text.push_str(literal.base10_digits()),
        Piece::Literal(Lit::Float(literal)) => text.push_str(literal.base10_digits()),
        Piece::Literal(other) => return Err(unknown(other.span())),
        Piece::Macro(found) if found.path.is_ident("concat") => {
            let pieces = Punctuated::<Piece, Token![,]>::parse_terminated;
            for piece in pieces.parse2(found.tokens)? {
                append(piece, text)?;
            }
        }
        Piece::Macro(found) if found.path.is_ident("env") => {
            let name: LitStr = syn::parse2(found.tokens)?;
            text.push_str(&format!("${{{}}}", name.value()));
        }
        Piece::Macro(found) => return Err(unknown(span(&found))),
    }
    Ok(())
}

fn span(found: &Macro) -> Span {
    found.path.span()
}

fn unknown(span: Span) -> syn::Error {
    let message = "expected a string literal, as in \"$OUT_DIR/model.onnx\", or `concat!` of literals and `env!(..)`; \
                   the macro cannot evaluate constants or other macros";
    syn::Error::new(span, message)
}
