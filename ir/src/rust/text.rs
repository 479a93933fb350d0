//! Conversion of code trees to tokens.

use std::convert::Infallible;
use std::fmt;
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use super::{Access, Bracket, Code, CodeNode, Head};

/// A token of code, or one side of a bracket.
#[derive(Clone, Copy, Debug)]
pub enum Token<'c> {
    Word(&'c str),
    Sign(&'static str),
    Lifetime(&'static str),
    Literal(&'c str),
    Text(&'c str),
    Open(Bracket),
    Close(Bracket),
    /// Code that the caller of the macro wrote.
    Foreign(&'c TokenStream),
}

impl Code {
    pub fn tokens(&self) -> TokenStream {
        self.clone().into_tokens()
    }

    /// Returns the tokens. Each part of the tree is dropped after its conversion.
    pub fn into_tokens(self) -> TokenStream {
        let mut streams = Streams::default();
        let Ok(()) = self.each_token(&mut |token| -> Result<(), Infallible> {
            streams.add(token);
            Ok(())
        });
        streams.last
    }

    /// Calls `see` with each token until it fails. Each part is dropped after its tokens.
    pub fn each_token<E>(self, see: &mut See<'_, E>) -> Result<(), E> {
        let mut parts = self.into_parts().into_iter();
        parts.try_for_each(|part| part.each_token(see))
    }
}

/// A function that is called with each token.
type See<'s, E> = dyn FnMut(Token<'_>) -> Result<(), E> + 's;

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tokens(), f)
    }
}

impl CodeNode {
    fn each_token<E>(self, see: &mut See<'_, E>) -> Result<(), E> {
        match self {
            CodeNode::Word(name) | CodeNode::Member(name) => see(Token::Word(name)),
            CodeNode::Name(name) => see(Token::Word(&name)),
            CodeNode::Sign(text) => see(Token::Sign(text)),
            CodeNode::Lifetime(name) => see(Token::Lifetime(name)),
            CodeNode::Literal(text) => see(Token::Literal(text)),
            CodeNode::Number(text) => see(Token::Literal(&text)),
            CodeNode::Text(text) | CodeNode::Weight(text) => see(Token::Text(&text)),
            CodeNode::Field(name) => {
                see(Token::Word("self"))?;
                see(Token::Sign("."))?;
                see(Token::Word(&name))
            }
            CodeNode::Device => see(Token::Word("device")),
            CodeNode::Weights => see(Token::Word("weights")),
            CodeNode::Value(variable, access) => {
                see(Token::Word(&format!("__v{}", variable.0)))?;
                if access == Access::Clone {
                    CodeNode::Method("clone", Code::default()).each_token(see)?;
                }
                Ok(())
            }
            CodeNode::Size(size) => see(Token::Word(&format!("__s{}", size.0))),
            CodeNode::Method(name, arguments) => {
                see(Token::Sign("."))?;
                see(Token::Word(name))?;
                group(Bracket::Round, arguments, see)
            }
            CodeNode::Group(bracket, inside) => group(bracket, inside, see),
            CodeNode::Let(pattern, value) => {
                see(Token::Word("let"))?;
                assignment(pattern, value, see)
            }
            CodeNode::Assign(target, value) => assignment(target, value, see),
            CodeNode::Loop(repeated) => {
                let repeated = Rc::unwrap_or_clone(repeated);
                match repeated.head {
                    Head::For(pattern, range) => {
                        see(Token::Word("for"))?;
                        pattern.each_token(see)?;
                        see(Token::Word("in"))?;
                        range.each_token(see)?;
                    }
                    Head::While(condition) => {
                        see(Token::Word("while"))?;
                        condition.each_token(see)?;
                    }
                    Head::Endless => see(Token::Word("loop"))?,
                }
                group(Bracket::Curly, repeated.body, see)
            }
            CodeNode::Entry(name, value) => {
                see(Token::Word(&name))?;
                if !matches!(value.single(), Some(CodeNode::Name(value)) if *value == name) {
                    see(Token::Sign(":"))?;
                    value.each_token(see)?;
                }
                Ok(())
            }
            CodeNode::Foreign(foreign) => see(Token::Foreign(&foreign.0)),
        }
    }
}

fn assignment<E>(target: Code, value: Code, see: &mut See<'_, E>) -> Result<(), E> {
    target.each_token(see)?;
    see(Token::Sign("="))?;
    value.each_token(see)?;
    see(Token::Sign(";"))
}

fn group<E>(bracket: Bracket, inside: Code, see: &mut See<'_, E>) -> Result<(), E> {
    see(Token::Open(bracket))?;
    inside.each_token(see)?;
    see(Token::Close(bracket))
}

/// Unfinished token streams: those around the open brackets, outermost first, and the innermost one.
#[derive(Default)]
struct Streams {
    outer: Vec<TokenStream>,
    last: TokenStream,
}

impl Streams {
    fn add(&mut self, token: Token<'_>) {
        match token {
            Token::Word(name) => self.word(name),
            Token::Sign(text) => self.sign(text),
            Token::Lifetime(name) => {
                self.push(Punct::new('\'', Spacing::Joint));
                self.word(name.trim_start_matches('\''));
            }
            Token::Literal(text) => {
                let parsed = text.parse::<Literal>();
                self.last.extend(parsed.ok().map(TokenTree::from));
            }
            Token::Text(text) => self.push(Literal::string(text)),
            Token::Open(_) => self.outer.push(std::mem::take(&mut self.last)),
            Token::Close(bracket) => {
                let delimiter = match bracket {
                    Bracket::Round => Delimiter::Parenthesis,
                    Bracket::Square => Delimiter::Bracket,
                    Bracket::Curly => Delimiter::Brace,
                };
                let outer = self.outer.pop().unwrap_or_default();
                let inside = std::mem::replace(&mut self.last, outer);
                self.push(Group::new(delimiter, inside));
            }
            Token::Foreign(tokens) => self.last.extend(tokens.clone()),
        }
    }

    fn push(&mut self, token: impl Into<TokenTree>) {
        self.last.extend([token.into()]);
    }

    fn word(&mut self, name: &str) {
        self.push(Ident::new(name, Span::call_site()));
    }

    /// Adds a sign of one or more characters.
    fn sign(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let spacing = match characters.peek() {
                Some(_) => Spacing::Joint,
                None => Spacing::Alone,
            };
            self.push(Punct::new(character, spacing));
        }
    }
}
