//! Compares all messages of the project with a list that a person can read: `messages.txt`.
//!
//! `BLESS=1 cargo test -p onnx-embed-ir --test messages` writes the list again.
//!
//! A message is every string literal of several words that reaches a user or a caller: diagnostics, errors,
//! panics, the output and the help of the command line, and the documentation in generated code.

mod source;

use std::{fmt::Write, fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprMethodCall, Field, Item, Lit, LitStr, Macro, Meta, Variant,
    visit::{self, Visit},
};

use source::is_test;

/// The first files of crates with messages.
const CRATES: [&str; 7] = [
    "macros/src/lib.rs",
    "ir/src/lib.rs",
    "ir/cli/src/main.rs",
    "ir/cli/harness/src/lib.rs",
    "ir/cli/runner/src/lib.rs",
    "runtime/src/lib.rs",
    "kernels/src/lib.rs",
];

/// Files and folders whose strings are other languages, or explain the compiler to its authors.
const OTHERS: [&str; 6] = [
    // Laws of rewrite rules, and reasons why a rule does not match.
    "ir/src/passes/rules",
    "ir/src/passes/rewrite",
    // Derivatives, in ONNX text.
    "ir/src/read/gradient/rules",
    // Rust code and manifests.
    "ir/cli/harness/src/scratch/sources.rs",
    "ir/cli/src/view/svg.rs",
    "ir/cli/src/view/text_graph.rs",
];

/// Macros whose strings describe errors of this project, not of its users.
const INTERNAL: [&str; 8] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "unreachable",
    "cfg",
];

/// Messages of a file.
#[derive(Default)]
struct Messages {
    /// Each message with its help, in their order.
    texts: Vec<(String, String)>,
    is_help: bool,
    /// Set within types of clap, whose documentation comments are the help of the command line.
    documented: bool,
    /// Modules in files of their own, except tests.
    modules: Vec<String>,
}

#[test]
fn all_messages_are_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut list =
        String::from("Messages of onnx-embed, by file. A name in braces is replaced by a value.\n");
    for first in CRATES {
        add_file(&root, Path::new(first), &mut list);
    }
    assert!(list.lines().count() > 1500, "only {} lines of messages were found", list.lines().count());

    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&recorded, &list).unwrap();
    }
    let recorded = fs::read_to_string(&recorded).unwrap();
    let changed = list.lines().zip(recorded.lines()).find(|(found, recorded)| found != recorded);
    assert!(
        list == recorded,
        "messages changed, the first of them: {changed:?}\n\
         read the new text, then run `BLESS=1 cargo test -p onnx-embed-ir --test messages`",
    );
}

/// Messages in the guide that are not in the list: those of rustc, and one that is composed of phrases.
const COMPOSED: [&str; 3] = [
    "no function or associated item named `new`",
    "mismatched types, at a path in `ops(..)`",
    "the right matrix has 7 rows, but the left matrix has 8 columns",
];

#[test]
fn the_guide_quotes_messages_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join("tests/messages.txt")).unwrap();
    let messages: Vec<Vec<&str>> = list.lines().map(words).filter(|words| words.len() > 1).collect();
    let page = fs::read_to_string(root.join("../guide/src/errors.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let quoted: Vec<&str> =
        rows.map(|(message, _)| message).filter(|message| !["message", "---"].contains(message)).collect();
    assert!(quoted.len() > 20, "only {quoted:?}");
    for message in quoted.into_iter().filter(|message| !COMPOSED.contains(message)) {
        let quoted = words(message);
        // A row may show values, and several messages of one kind.
        let is_listed = messages.iter().any(|words| {
            let mut rest = quoted.iter();
            words.len() * 5 >= quoted.len() * 2 && words.iter().all(|word| rest.any(|other| other == word))
        });
        assert!(is_listed, "no message of the program is `{message}`");
    }
}

/// Returns the words of a message, without names, numbers and placeholders.
fn words(message: &str) -> Vec<&str> {
    let outside = message.split('`').step_by(2);
    let words = outside.flat_map(|text| text.split([' ', ',', ';', ':', '(', ')', '"']));
    words.filter(|word| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphabetic())).collect()
}

/// Adds the messages of a file and of its modules.
fn add_file(root: &Path, path: &Path, list: &mut String) {
    let messages = Messages::read(&fs::read_to_string(root.join(path)).unwrap());
    let text = messages.text();
    if !text.is_empty() && !OTHERS.iter().any(|other| path.starts_with(other)) {
        write!(list, "\n# {}\n\n{text}", path.display()).unwrap();
    }
    let is_first = CRATES.iter().any(|first| path == Path::new(first));
    let folder = if is_first { path.parent().unwrap().to_owned() } else { path.with_extension("") };
    for module in messages.modules {
        add_file(root, &folder.join(module + ".rs"), list);
    }
}

#[test]
fn messages_are_found() {
    let text = r#"
        //! Documentation of a module.
        fn check() -> Result<(), Problem> {
            ensure!(x, "the size is {}, expected {y}", f("an inner text"));
            assert!(x, "an internal error");
            code! { #[doc = " Documentation in generated code."] fn f() { panic!("a failure at run time") } }
            Err(Problem::new(format!("no such axis: {axis}")).help("choose another axis").at("word"))
        }
        /// Not output.
        struct Other;
        #[derive(Args)]
        struct Options {
            /// Writes to a file.
            #[arg(long, help = "the name of the file")]
            out: PathBuf,
        }
        #[cfg(test)]
        mod tests { fn f() { panic!("a test failed") } }
    "#;
    let expected = "the size is {}, expected {y}\nan inner text\nDocumentation in generated code.\na failure at run time\n\
                    no such axis: {axis}\n    help: choose another axis\nWrites to a file.\nthe name of the file\n";
    assert_eq!(Messages::read(text).text(), expected);
}

impl Messages {
    fn read(text: &str) -> Self {
        let mut messages = Messages::default();
        messages.visit_file(&syn::parse_file(text).unwrap());
        messages
    }

    /// Returns the messages, equal ones once.
    fn text(&self) -> String {
        let mut text = String::new();
        for (at, message) in self.texts.iter().enumerate() {
            if !self.texts[..at].contains(message) {
                text += &message.0;
                text += &message.1;
            }
        }
        text
    }

    /// Adds a text that has two words in sequence.
    fn add(&mut self, text: &str) {
        let is_word = |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphabetic());
        let is_name = |word: &str| word.starts_with(['{', '`']);
        let words: Vec<&str> = text.split([' ', '\n']).collect();
        let in_sequence = |pair: &[&str]| {
            let [before, after] = [pair[0], pair[1]].map(|word| word.trim_matches([',', ':', ';', '.']));
            (is_word(before) && (is_word(after) || is_name(after))) || (is_name(before) && is_word(after))
        };
        if !words.windows(2).any(in_sequence) {
            return;
        }
        let mark = if self.is_help { "    help: " } else { "" };
        let mut lines = String::new();
        for (at, line) in text.trim().lines().enumerate() {
            let mark = if at == 0 { mark } else { "    " };
            writeln!(lines, "{}", format!("{mark}{line}").trim_end()).unwrap();
        }
        match self.texts.last_mut() {
            Some((_, help)) if self.is_help => *help += &lines,
            _ => self.texts.push((lines, String::new())),
        }
    }

    /// Adds the strings of a macro's tokens, except conditions of assertions. Documentation is output in generated code
    /// only.
    fn add_tokens(&mut self, tokens: TokenStream, is_generated: bool) {
        let mut before = [String::new(), String::new()];
        for token in tokens {
            match &token {
                TokenTree::Group(group) => {
                    let first = group.stream().into_iter().next().map(|first| first.to_string());
                    let is_documentation = before[1] == "#" && first.as_deref() == Some("doc");
                    let is_internal = INTERNAL.iter().any(|name| before == [*name, "!"]);
                    if !is_internal && (is_generated || !is_documentation) {
                        self.add_tokens(group.stream(), is_generated);
                    }
                }
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal.clone()) {
                        self.add(&text.value());
                    }
                }
                _ => {}
            }
            before = [std::mem::take(&mut before[1]), token.to_string()];
        }
    }

    /// Adds the text of documentation comments of the command line's arguments.
    fn add_documentation(&mut self, attributes: &[Attribute]) {
        let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
        let lines: Vec<_> = lines.collect();
        self.add(&lines.join("\n"));
    }
}

impl Visit<'_> for Messages {
    fn visit_item(&mut self, item: &Item) {
        let attributes = match item {
            Item::Enum(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Macro(item) => return self.add_tokens(item.mac.tokens.clone(), false),
            _ => return visit::visit_item(self, item),
        };
        if is_test(attributes) {
            return;
        }
        if let Item::Mod(module) = item
            && module.content.is_none()
        {
            self.modules.push(module.ident.to_string());
        }
        let derived = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
        let clap = ["Parser", "Args", "Subcommand", "ValueEnum"];
        let documented = derived
            .filter_map(|attribute| attribute.meta.require_list().ok())
            .any(|list| list.tokens.to_string().split(", ").any(|name| clap.contains(&name.trim())));
        let outer = std::mem::replace(&mut self.documented, documented);
        if documented {
            self.add_documentation(attributes);
        }
        visit::visit_item(self, item);
        self.documented = outer;
    }

    fn visit_field(&mut self, field: &Field) {
        if self.documented {
            self.add_documentation(&field.attrs);
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &Variant) {
        if self.documented {
            self.add_documentation(&variant.attrs);
        }
        visit::visit_variant(self, variant);
    }

    /// Adds the strings of an attribute, such as `#[arg(help = "..")]`.
    fn visit_attribute(&mut self, attribute: &Attribute) {
        if let Meta::List(list) = &attribute.meta
            && ["arg", "command", "clap", "error"].iter().any(|name| list.path.is_ident(name))
        {
            self.add_tokens(list.tokens.clone(), false);
        }
    }

    fn visit_lit_str(&mut self, text: &LitStr) {
        self.add(&text.value());
    }

    fn visit_macro(&mut self, called: &Macro) {
        let name = called.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if !INTERNAL.contains(&&*name) {
            self.add_tokens(called.tokens.clone(), ["code", "quote"].contains(&&*name));
        }
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        self.visit_expr(&call.receiver);
        match &*call.method.to_string() {
            // The text of an invariant, or of an example in tests.
            "expect" | "example" | "examples" => {}
            "help" => {
                let outer = std::mem::replace(&mut self.is_help, true);
                call.args.iter().for_each(|argument| self.visit_expr(argument));
                self.is_help = outer;
            }
            _ => call.args.iter().for_each(|argument| self.visit_expr(argument)),
        }
    }
}
