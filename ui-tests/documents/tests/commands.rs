//! Checks every command of README and guide.
//!
//! A command runs, or `.ci` contains it, or the document states why it cannot run here. Cargo reads every manifest.
//!
//! With `ONNX_EMBED_COMMANDS=all`, commands that build programs run too; `record` requires a `python3` with ONNX
//! Runtime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use onnx_embed_documents::{Block, blocks, documents};

#[test]
fn every_command_runs() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let short = fs::read_to_string(root.join(".ci/run"))?;
    let full = fs::read_to_string(root.join(".ci/full"))?;
    let ci = (short + &full).replace("\\\n", " ");
    let all = std::env::var_os("ONNX_EMBED_COMMANDS").is_some_and(|value| value == "all");
    let mut program = None;
    for document in documents(&root)? {
        for block in blocks(&root, &document)? {
            let place = format!("{}:{}", block.document, block.line);
            let setting = &block.setting;
            if let Some(command) = &setting.output {
                let program = program.get_or_insert_with(|| command_line(&root));
                printed(&block, command, &root, program.as_deref()).context(place)?;
            } else if let Some(file) = &setting.within {
                let text = fs::read_to_string(root.join(file))?;
                ensure!(contains(&text, &block.text), "{place}: {} has not these lines", file.display());
            } else if block.language == "toml" {
                manifest(&block, &root).context(place)?;
            } else if block.language != "sh" {
                continue;
            } else if let Some(reason) = &setting.elsewhere {
                println!("{place}: not run: {reason}");
            } else if let (Some(reason), false) = (&setting.long, all) {
                println!("{place}: not run without ONNX_EMBED_COMMANDS=all: {reason}");
            } else if setting.in_ci {
                for line in commands(&block.text) {
                    ensure!(
                        has(&ci, &line),
                        "{place}: neither .ci/run nor .ci/full has the command `{line}`"
                    );
                }
            } else {
                let program = program.get_or_insert_with(|| command_line(&root));
                let start = Instant::now();
                run(&block, &root, program.as_deref()).context(place.clone())?;
                if setting.long.is_some() {
                    println!("{place}: {:.0} s", start.elapsed().as_secs_f32());
                }
            }
        }
    }
    Ok(())
}

/// Fails unless cargo reads a block as part of a manifest and recognizes all its keys.
fn manifest(block: &Block, root: &Path) -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("manifest");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let local = format!("path = {:?}", root.join("runtime"));
    let text = block.text.replace("git = \"https://github.com/onnx-embed/onnx-embed\"", &local);
    let package = "[package]\nname = \"user\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), format!("{package}{text}"))?;
    let words = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let output = cargo(&folder, &words).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.is_empty(), "{said}");
    Ok(())
}

/// Builds `cargo-onnx-embed` and returns its folder.
fn command_line(root: &Path) -> Option<PathBuf> {
    let built = cargo(root, &["build", "--bin", "cargo-onnx-embed"]).status().ok()?;
    // This program is in the folder `deps` of the profile.
    let folder = std::env::current_exe().ok()?;
    built.success().then(|| folder.ancestors().nth(2).map(Path::to_owned))?
}

fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(words);
    command
}

/// Runs the commands of a block in a folder with the models that it names, or in the checkout if it names none.
fn run(block: &Block, root: &Path, program: Option<&Path>) -> Result<()> {
    let program = program.context("cargo-onnx-embed was not built")?;
    let text: Vec<String> = commands(&block.text).collect();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("line_{}", block.line));
    let folder = if block.setting.models.is_empty() {
        root
    } else {
        let _ = fs::remove_dir_all(&folder);
        for (name, model) in &block.setting.models {
            let to = folder.join(name);
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            fs::copy(root.join(model), to).with_context(|| model.display().to_string())?;
        }
        &folder
    };
    let output = shell(&text.join("\n"), folder, root, program)?;
    print!("{output}");
    Ok(())
}

/// Runs a script in a shell and returns its output.
fn shell(text: &str, folder: &Path, root: &Path, program: &Path) -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = vec![program.to_owned()];
    folders.extend(std::env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-euc", text])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(folders)?)
        .env("CARGO_TARGET_DIR", program.parent().context("a profile has a folder")?)
        .env("ONNX_EMBED_CHECKOUT", root)
        .env("CARGO_INSTALL_ROOT", concat!(env!("CARGO_TARGET_TMPDIR"), "/installed"))
        .stdin(Stdio::null())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{text}` ends with {}\n{printed}{said}", output.status);
    }
    Ok(printed)
}

/// Fails unless the output of the command contains the lines of the block one after the other.
fn printed(block: &Block, command: &str, root: &Path, program: Option<&Path>) -> Result<()> {
    let program = program.context("cargo-onnx-embed was not built")?;
    let output = shell(command, root, root, program)?;
    let found = contains(&output, &block.text);
    ensure!(found, "`{command}` does not print these lines but\n{output}");
    Ok(())
}

/// Returns `true` if a text contains these lines one after the other, regardless of indentation.
fn contains(text: &str, lines: &str) -> bool {
    let text: Vec<&str> = text.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.lines().map(str::trim).collect();
    text.windows(lines.len()).any(|part| part == lines)
}

/// Returns the commands of a block without comments, with continued lines joined.
fn commands(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\\\n", " ");
    let lines: Vec<String> = text.lines().map(words).collect();
    lines.into_iter().filter(|line| !line.is_empty())
}

/// Returns a line with one space between words, without its comment.
fn words(line: &str) -> String {
    let line = line.split_once(" #").map_or(line, |(command, _)| command);
    let line = if line.starts_with('#') { "" } else { line };
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has(ci: &str, command: &str) -> bool {
    ci.lines().any(|line| words(line) == command)
}
