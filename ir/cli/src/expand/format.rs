//! Formatting of code item by item. The syntax tree of an item takes thirty times the memory of its text.

use std::io::{self, Write};

use anyhow::{Context, Result};
use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, File, Ident, Item, ItemMod, Token, Visibility, braced, token};

/// Writes items as a formatted file.
pub fn write(code: TokenStream, out: &mut impl Write) -> Result<()> {
    let mut written = Ok(());
    let file = |input: ParseStream<'_>| {
        while !input.is_empty() && written.is_ok() {
            written = if is_module(input)? {
                module(input, out)?
            } else {
                out.write_all(text(input.parse()?).as_bytes())
            };
        }
        Ok(())
    };
    file.parse2(code).context("the generated code is not valid Rust")?;
    Ok(written?)
}

/// Returns `true` before a module with items.
fn is_module(input: ParseStream<'_>) -> syn::Result<bool> {
    let ahead = input.fork();
    ahead.call(Attribute::parse_outer)?;
    ahead.parse::<Visibility>()?;
    Ok(ahead.peek(Token![mod]) && ahead.peek3(token::Brace))
}

/// Writes a module, each of its items formatted as the only one. The inner result is that of writing.
fn module(input: ParseStream<'_>, out: &mut impl Write) -> syn::Result<io::Result<()>> {
    let attrs = input.call(Attribute::parse_outer)?;
    let vis: Visibility = input.parse()?;
    let (mod_token, ident) = (input.parse()?, input.parse()?);
    let inside;
    let brace = braced!(inside in input);
    let with = |attrs: Vec<Attribute>, items| {
        let (vis, ident, content) = (vis.clone(), Ident::clone(&ident), Some((brace, items)));
        text(Item::Mod(ItemMod { attrs, vis, unsafety: None, mod_token, ident, content, semi: None }))
    };
    // Without items, the braces are on one line.
    let opening = |text: String| text.trim_end().trim_end_matches('}').to_owned() + "\n";
    let start = opening(with(Vec::new(), Vec::new())).len();
    let mut written = out.write_all(opening(with(attrs, Vec::new())).as_bytes());
    while !inside.is_empty() && written.is_ok() {
        let text = with(Vec::new(), vec![inside.parse()?]);
        let item = text.get(start..).and_then(|item| item.strip_suffix("}\n"));
        let item =
            item.ok_or_else(|| inside.error("the formatted module has no braces on lines of their own"))?;
        written = out.write_all(item.as_bytes());
    }
    Ok(written.and_then(|()| out.write_all(b"}\n")))
}

/// Returns the formatted text of an item.
fn text(item: Item) -> String {
    prettyplease::unparse(&File { shebang: None, attrs: Vec::new(), items: vec![item] })
}
