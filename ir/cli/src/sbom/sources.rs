//! Paths of models in the source files of a package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onnx_embed_ir::files::variables::escaped;
use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

use super::packages::Package;

/// Name of the macro that embeds models.
const MACRO: &str = "onnx_model";
/// Folders of a package whose files are not part of its library or its programs.
const OTHERS: [&str; 3] = ["tests", "benches", "examples"];

/// A call of the macro.
#[derive(Debug)]
pub struct Call {
    /// Source file of the call.
    pub file: PathBuf,
    /// Path as written, with variables in the form `${NAME}`. `None` if it is not a string.
    pub path: Option<String>,
}

/// Returns the calls of the macro in the library and the programs of a package.
pub fn calls(package: &Package, target: &Path) -> Result<Vec<Call>> {
    let mut calls = Vec::new();
    for file in files(package, target)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        if !text.contains(MACRO) {
            continue;
        }
        let tokens: TokenStream = text
            .parse()
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("`{}` is not Rust code", file.display()))?;
        calls.extend(paths(tokens).into_iter().map(|path| Call { file: file.clone(), path }));
    }
    Ok(calls)
}

/// Returns the `.rs` files in the folders of the library and the programs.
fn files(package: &Package, target: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let mut open: Vec<PathBuf> = package.sources.iter().cloned().collect();
    while let Some(folder) = open.pop() {
        let failed = || format!("cannot read `{}`", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().with_context(failed)?.is_dir() {
                let is_other = folder == package.folder && OTHERS.contains(&&*name);
                let is_package = path.join("Cargo.toml").is_file();
                if !is_other && !is_package && !name.starts_with('.') && path != target {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|end| end == "rs") && path.is_file() {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

/// Returns the path of each call, in their order.
fn paths(tokens: TokenStream) -> Vec<Option<String>> {
    let mut paths = Vec::new();
    let mut open = vec![tokens.into_iter().peekable()];
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            None => _ = open.pop(),
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter().peekable()),
            Some(TokenTree::Ident(name)) if name == MACRO => {
                if tokens.next_if(|next| is(next, '!')).is_some()
                    && let Some(TokenTree::Group(arguments)) =
                        tokens.next_if(|next| matches!(next, TokenTree::Group(_)))
                {
                    paths.push(path(arguments.stream()));
                }
            }
            Some(_) => {}
        }
    }
    paths
}

/// Returns the path in the arguments of a call: the string after `=` or, in the short form, the first one.
fn path(arguments: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = arguments.into_iter().collect();
    let start = tokens.iter().rposition(|token| is(token, '='));
    let mut rest = tokens.get(start.map_or(0, |at| at + 1)..)?;
    while let [TokenTree::Punct(sign), TokenTree::Group(_), after @ ..] = rest
        && sign.as_char() == '#'
    {
        rest = after;
    }
    match rest {
        [TokenTree::Literal(literal), ..] => string(&literal.to_string()),
        [TokenTree::Ident(name), sign, TokenTree::Group(pieces), ..] if name == "concat" && is(sign, '!') => {
            concatenated(pieces.stream())
        }
        _ => None,
    }
}

/// Returns the text of `concat!` with strings and `env!(..)` in it.
fn concatenated(pieces: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = pieces.into_iter().collect();
    let mut text = String::new();
    for piece in tokens.split(|token| is(token, ',')) {
        match piece {
            [] => {}
            [TokenTree::Literal(literal)] => text.push_str(&escaped(&string(&literal.to_string())?)),
            [TokenTree::Ident(name), sign, TokenTree::Group(variable)] if name == "env" && is(sign, '!') => {
                let variable = string(&variable.stream().to_string())?;
                text.push_str(&format!("${{{variable}}}"));
            }
            _ => return None,
        }
    }
    Some(text)
}

fn string(literal: &str) -> Option<String> {
    syn::parse_str::<LitStr>(literal).ok().map(|literal| literal.value())
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[Option<&str>]) {
        let found = paths(source.parse().unwrap());
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn both_forms_of_the_macro_have_a_path() {
        check(
            r#"onnx_embed::onnx_model!("a.onnx"); mod m { onnx_model! { r"b.onnx" } }"#,
            &[Some("a.onnx"), Some("b.onnx")],
        );
        check(
            r#"onnx_model! {
                /// Digits.
                #[onnx(weights = "file", dims(batch = 1))]
                pub(crate) struct Digits = "models/c.onnx";
            }"#,
            &[Some("models/c.onnx")],
        );
    }

    #[test]
    fn a_path_may_have_variables() {
        check(r#"onnx_model!(concat!(env!("OUT_DIR"), "/a$b.onnx"))"#, &[Some("${OUT_DIR}/a$$b.onnx")]);
        check(r#"onnx_model!("$OUT_DIR/a.onnx");"#, &[Some("$OUT_DIR/a.onnx")]);
    }

    #[test]
    fn other_paths_are_unknown() {
        check("macro_rules! m { ($path:literal) => { onnx_model!($path); } }", &[None]);
        check("onnx_model!(concat!(stringify!(a), \".onnx\"));", &[None]);
        check("onnx_model!();", &[None]);
    }

    #[test]
    fn comments_strings_and_other_uses_are_no_calls() {
        let source =
            "// onnx_model!(\"a.onnx\")\nuse onnx_embed::onnx_model; const S: &str = \"onnx_model!(1)\";";
        check(source, &[]);
    }
}
