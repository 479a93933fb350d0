//! `completions` and `man`: shell completions and manual pages.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed completions bash > ~/.local/share/bash-completion/completions/cargo-onnx-embed
  cargo onnx-embed completions zsh > ~/.zfunc/_cargo-onnx-embed

Only the shell reads the script: there is no --json.")]
pub struct Completions {
    /// Shell that reads the script
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed man ~/.local/share/man/man1      one page per command

Only `man` reads the pages: there is no --json.")]
pub struct Man {
    /// Folder for the pages [default: print one page]
    pub folder: Option<PathBuf>,
}

/// Name of the program whose arguments shells complete.
const PROGRAM: &str = "cargo-onnx-embed";

pub fn completions(arguments: &Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    let mut command = Arguments::command().bin_name(PROGRAM);
    clap_complete::generate(arguments.shell, &mut command, PROGRAM, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(arguments: &Man) -> Result<ExitCode> {
    let command = Arguments::command();
    let Some(folder) = &arguments.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        std::io::stdout().write_all(&page)?;
        return Ok(ExitCode::SUCCESS);
    };
    let failed = |path: &Path| format!("cannot write to `{}`", path.display());
    std::fs::create_dir_all(folder).with_context(|| failed(folder))?;
    clap_mangen::generate_to(command, folder).with_context(|| failed(folder))?;
    Ok(ExitCode::SUCCESS)
}
