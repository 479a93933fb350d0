//! Trees of code as tokens.

use std::fmt;
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use super::{Access, Bracket, Code, Head, Part};

impl Code {
    pub fn tokens(&self) -> TokenStream {
        self.clone().into_tokens()
    }

    /// The tokens; the tree ends as they are made, part by part.
    pub fn into_tokens(self) -> TokenStream {
        let mut tokens = TokenStream::new();
        write(self, &mut tokens);
        tokens
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tokens(), f)
    }
}

fn write(code: Code, tokens: &mut TokenStream) {
    let parts = code.into_parts().into_iter();
    parts.for_each(|part| part.write(tokens));
}

impl Part {
    fn write(self, tokens: &mut TokenStream) {
        match self {
            Part::Word(name) | Part::Member(name) => word(name, tokens),
            Part::Name(name) => word(&name, tokens),
            Part::Sign(text) => sign(text, tokens),
            Part::Lifetime(name) => sign_and_word(name, tokens),
            Part::Literal(text) => literal(text, tokens),
            Part::Number(text) => literal(&text, tokens),
            Part::Text(text) | Part::Weight(text) => push(Literal::string(&text), tokens),
            Part::Field(name) => {
                word("self", tokens);
                sign(".", tokens);
                word(&name, tokens);
            }
            Part::Device => word("device", tokens),
            Part::Weights => word("weights", tokens),
            Part::Value(variable, access) => {
                word(&format!("__v{}", variable.0), tokens);
                if access == Access::Clone {
                    Part::Method("clone", Code::default()).write(tokens);
                }
            }
            Part::Size(size) => word(&format!("__s{}", size.0), tokens),
            Part::Method(name, arguments) => {
                sign(".", tokens);
                word(name, tokens);
                group(Delimiter::Parenthesis, arguments, tokens);
            }
            Part::Group(bracket, inside) => {
                let delimiter = match bracket {
                    Bracket::Round => Delimiter::Parenthesis,
                    Bracket::Square => Delimiter::Bracket,
                    Bracket::Curly => Delimiter::Brace,
                };
                group(delimiter, inside, tokens);
            }
            Part::Let(pattern, value) => {
                word("let", tokens);
                assignment(pattern, value, tokens);
            }
            Part::Assign(target, value) => assignment(target, value, tokens),
            Part::Loop(made) => {
                let made = Rc::unwrap_or_clone(made);
                match made.head {
                    Head::For(pattern, range) => {
                        word("for", tokens);
                        write(pattern, tokens);
                        word("in", tokens);
                        write(range, tokens);
                    }
                    Head::While(condition) => {
                        word("while", tokens);
                        write(condition, tokens);
                    }
                    Head::Endless => word("loop", tokens),
                }
                group(Delimiter::Brace, made.body, tokens);
            }
            Part::Entry(name, value) => {
                word(&name, tokens);
                if !matches!(value.single(), Some(Part::Name(value)) if *value == name) {
                    sign(":", tokens);
                    write(value, tokens);
                }
            }
            Part::Foreign(foreign) => tokens.extend((*foreign.0).clone()),
        }
    }
}

fn assignment(target: Code, value: Code, tokens: &mut TokenStream) {
    write(target, tokens);
    sign("=", tokens);
    write(value, tokens);
    sign(";", tokens);
}

fn group(delimiter: Delimiter, inside: Code, tokens: &mut TokenStream) {
    push(Group::new(delimiter, inside.into_tokens()), tokens);
}

fn push(token: impl Into<TokenTree>, tokens: &mut TokenStream) {
    tokens.extend([token.into()]);
}

fn word(name: &str, tokens: &mut TokenStream) {
    push(Ident::new(name, Span::call_site()), tokens);
}

/// One sign of one or more characters.
fn sign(text: &str, tokens: &mut TokenStream) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let spacing = match characters.peek() {
            Some(_) => Spacing::Joint,
            None => Spacing::Alone,
        };
        push(Punct::new(character, spacing), tokens);
    }
}

fn sign_and_word(lifetime: &str, tokens: &mut TokenStream) {
    push(Punct::new('\'', Spacing::Joint), tokens);
    word(lifetime.trim_start_matches('\''), tokens);
}

/// A literal that was written as one.
fn literal(text: &str, tokens: &mut TokenStream) {
    let parsed = text.parse::<Literal>();
    tokens.extend(parsed.ok().map(TokenTree::from));
}
