//! Writes a test for each Rust block in the documents.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use reader::{Block, blocks, documents};

#[path = "src/lib.rs"]
mod reader;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=../../guide");
    let mut tests = String::new();
    for document in documents(&root).expect("the documents can be listed") {
        println!("cargo::rerun-if-changed=../../{}", document.display());
        let found = blocks(&root, &document).unwrap_or_else(|error| panic!("{error:#}"));
        let mut found = found.into_iter().filter(|block| block.language == "rust").peekable();
        if found.peek().is_none() {
            continue;
        }
        let name = document.display().to_string().replace(|letter: char| !letter.is_alphanumeric(), "_");
        let folder = out.join(name.to_lowercase());
        fs::create_dir_all(&folder).expect("a folder can be made");
        let _ = writeln!(tests, "mod {} {{", name.to_lowercase());
        for block in found {
            test(&mut tests, &block, &root, &folder);
        }
        let _ = writeln!(tests, "}}");
    }
    fs::write(out.join("blocks.rs"), tests).expect("the tests can be written");
}

/// Writes the test of a block to a separate file, so that models are found next to it.
fn test(tests: &mut String, block: &Block, root: &Path, folder: &Path) {
    let setting = &block.setting;
    if setting.output.is_some() || setting.within.is_some() {
        return;
    }
    for (name, model) in &setting.models {
        let file = root.join(model);
        println!("cargo::rerun-if-changed={}", file.display());
        fs::copy(&file, folder.join(name))
            .unwrap_or_else(|error| panic!("{}:{}: {}: {error}", block.document, block.line, file.display()));
    }
    let file = folder.join(format!("line_{}.rs", block.line));
    let is_program = block.text.contains("fn main(");
    let code = if is_program { format!("{}{}", setting.before, block.text) } else { function(block) };
    fs::write(&file, code).expect("a test can be written");
    if let Some(feature) = &setting.feature {
        let _ = writeln!(tests, "#[cfg(feature = {feature:?})]");
    }
    let call = if is_program { "main" } else { "block" };
    let test = if setting.no_run { "compiles" } else { "runs" };
    let _ = writeln!(
        tests,
        "#[allow(unused)]\nmod line_{line} {{\n    include!({file:?});\n    #[test]\n    fn {test}() {{\n        \
         crate::{test}({call});\n    }}\n}}",
        line = block.line,
    );
}

fn function(block: &Block) -> String {
    let setting = &block.setting;
    let body = format!("{}{}{}", setting.before, block.text, setting.after);
    let result = "Result<(), Box<dyn std::error::Error>>";
    if setting.is_async {
        format!("fn block() -> {result} {{\ncrate::block_on(async {{\n{body}\nOk(())\n}})\n}}\n")
    } else {
        format!("fn block() -> {result} {{\n{body}\nOk(())\n}}\n")
    }
}
