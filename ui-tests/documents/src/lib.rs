//! Code blocks of Markdown files and the settings of their tests.
//!
//! A comment before a block specifies how it is tested. Readers do not see it:
//!
//! ````text
//! <!-- test
//! model mnist.onnx = examples/mnist/mnist.onnx
//! let device = Device::flex();
//! ---
//! assert_eq!(output.dims(), [1, 10]);
//! -->
//! ```rust
//! let output = mnist::Model::new(&device).forward(image);
//! ```
//! ````
//!
//! Its lines are settings, or code that precedes the block and, after `---`, follows it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A code block of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Path of the document, relative to the checkout.
    pub document: String,
    /// Line number of its first line, counted from 1.
    pub line: usize,
    /// First word of its opening fence.
    pub language: String,
    pub text: String,
    pub setting: Setting,
}

/// Settings in the comment before a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Files that the block names, each with the path of a file of the checkout.
    pub models: Vec<(String, PathBuf)>,
    /// Cargo feature that the block requires.
    pub feature: Option<String>,
    /// `true` if the block awaits futures.
    pub is_async: bool,
    /// `true` if the block is compiled but not run.
    pub no_run: bool,
    /// File of the checkout that contains the lines of the block.
    pub within: Option<PathBuf>,
    /// `true` if `.ci/run` or `.ci/full` contains these commands.
    pub in_ci: bool,
    /// Reason why the commands take long. They run only if `ONNX_EMBED_COMMANDS` is `all`.
    pub long: Option<String>,
    /// Reason why the block is not run.
    pub elsewhere: Option<String>,
    /// Command whose output contains the lines of the block.
    pub output: Option<String>,
    /// Code before the block.
    pub before: String,
    /// Code after the block.
    pub after: String,
}

/// Returns the documents of a checkout that are tested.
pub fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::from("README.md")];
    let guide = root.join("guide/src");
    if guide.is_dir() {
        for entry in std::fs::read_dir(&guide)? {
            let name = entry?.file_name();
            if Path::new(&name).extension().is_some_and(|end| end == "md") {
                found.push(Path::new("guide/src").join(name));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the blocks of a document.
pub fn blocks(root: &Path, document: &Path) -> Result<Vec<Block>> {
    let text = std::fs::read_to_string(root.join(document))?;
    let name = document.display().to_string();
    parse(&name, &text).with_context(|| name)
}

fn parse(document: &str, text: &str) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut setting = None;
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if line == "<!-- test" || line.starts_with("<!-- test ") {
            let mut comment = vec![line.trim_start_matches("<!-- test").trim()];
            while let Some(last) = comment.last_mut() {
                if let Some(rest) = last.strip_suffix("-->") {
                    *last = rest.trim_end();
                    break;
                }
                let Some((_, next)) = lines.next() else {
                    bail!("line {number}: the comment has no end");
                };
                comment.push(next);
            }
            setting = Some(read(&comment).with_context(|| format!("line {number}"))?);
        } else if let Some(language) = line.trim_start().strip_prefix("```") {
            let indentation = line.len() - line.trim_start().len();
            let mut text = String::new();
            loop {
                let Some((_, next)) = lines.next() else {
                    bail!("line {number}: the block has no end");
                };
                if next.trim_start() == "```" {
                    break;
                }
                text += next.get(indentation..).unwrap_or_default();
                text.push('\n');
            }
            let word = |end: char| !end.is_alphanumeric();
            blocks.push(Block {
                document: document.to_owned(),
                line: number + 1,
                language: language.split(word).next().unwrap_or_default().to_owned(),
                text,
                setting: setting.take().unwrap_or_default(),
            });
        } else if setting.is_some() && !line.trim().is_empty() {
            bail!("line {number}: a comment for a test, and no code block below it");
        }
    }
    Ok(blocks)
}

fn read(comment: &[&str]) -> Result<Setting> {
    let mut setting = Setting::default();
    let mut is_after = false;
    for line in comment {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "model" => {
                let (name, file) = rest.split_once(" = ").context("`model NAME = FILE`")?;
                setting.models.push((name.to_owned(), file.into()));
            }
            "feature" => setting.feature = Some(rest.to_owned()),
            "async" if rest.is_empty() => setting.is_async = true,
            "no_run" if rest.is_empty() => setting.no_run = true,
            "within" => setting.within = Some(rest.into()),
            "ci" if rest.is_empty() => setting.in_ci = true,
            "long:" => setting.long = Some(rest.to_owned()),
            "elsewhere:" => setting.elsewhere = Some(rest.to_owned()),
            "output" => setting.output = Some(rest.to_owned()),
            "---" => is_after = true,
            _ if line.trim().is_empty() => {}
            _ => {
                let code = if is_after { &mut setting.after } else { &mut setting.before };
                *code += line;
                code.push('\n');
            }
        }
    }
    Ok(setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_says_how_its_block_is_tested() {
        let text = "Text.\n\n<!-- test\nmodel a.onnx = b/c.onnx\nlet x = 1;\n---\nassert!(y);\n-->\n\
                    ```rust\nlet y = x == 1;\n```\n\n```sh\nls\n```\n";
        let blocks = parse("a.md", text).unwrap();
        assert_eq!(blocks.len(), 2);
        let setting = &blocks[0].setting;
        assert_eq!(setting.models, [("a.onnx".to_owned(), "b/c.onnx".into())]);
        assert_eq!(setting.before, "let x = 1;\n");
        assert_eq!(setting.after, "assert!(y);\n");
        assert_eq!((blocks[0].line, blocks[0].text.as_str()), (10, "let y = x == 1;\n"));
        assert_eq!((blocks[1].language.as_str(), blocks[1].text.as_str()), ("sh", "ls\n"));
        assert_eq!(blocks[1].setting, Setting::default());
    }

    #[test]
    fn a_comment_may_be_one_line() {
        let blocks = parse("a.md", "<!-- test ci -->\n```sh\ncargo test\n```\n").unwrap();
        assert!(blocks[0].setting.in_ci);
    }

    #[test]
    fn what_is_left_open_is_an_error() {
        let error = |text| parse("a.md", text).unwrap_err().to_string();
        assert_eq!(error("a\n```rust\n"), "line 2: the block has no end");
        assert_eq!(error("<!-- test\nlet"), "line 1: the comment has no end");
        let alone = error("<!-- test ci -->\n\ntext\n```sh\n```\n");
        assert_eq!(alone, "line 3: a comment for a test, and no code block below it");
    }
}
