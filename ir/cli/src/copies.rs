//! Files of a copy of a model, which appear when all are complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::resave::{self, Failure, Sharding};

/// The file of the copy.
#[derive(Debug, Args)]
pub struct Target {
    /// File to write; external data are written next to it, as FILE.data
    #[arg(short, long = "out", value_name = "FILE")]
    pub output: PathBuf,
    /// Maximum size of a file of external data, as in 2GB or 500MiB [default: one file]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub shard_size: Option<u64>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

/// The files that are being written.
pub struct Files<'a> {
    target: &'a Target,
    /// Files of the original, which must remain.
    sources: Vec<PathBuf>,
    /// Complete files under their temporary names, with their final ones.
    parts: Vec<(PathBuf, PathBuf)>,
}

/// A file whose errors name it.
struct Named {
    file: File,
    path: PathBuf,
}

impl Target {
    /// Returns how external data are named and divided.
    pub fn sharding(&self) -> Result<Sharding> {
        let name = self.output.file_name().and_then(|name| name.to_str());
        let Some(name) = name else {
            bail!("the name of `{}` is not text, which external data need", self.output.display());
        };
        Ok(Sharding { name: format!("{name}.data"), most: self.shard_size.unwrap_or(u64::MAX) })
    }

    /// Prepares to write the copy of a model.
    pub fn files(&self, original: &Path) -> Result<Files<'_>> {
        let names = resave::sources(original).map_err(|failure| failed(failure, original))?;
        let sources = names.iter().enumerate().map(|(at, name)| match at {
            0 => original.canonicalize(),
            _ => original.with_file_name(name).canonicalize(),
        });
        let sources = sources.collect::<io::Result<_>>();
        let sources = sources.with_context(|| format!("cannot read `{}`", original.display()))?;
        let files = Files { target: self, sources, parts: Vec::new() };
        files.check(&self.output)?;
        Ok(files)
    }
}

impl Files<'_> {
    /// Creates a file of external data.
    pub fn create(&mut self, name: &str) -> io::Result<Box<dyn Write>> {
        let path = self.target.output.with_file_name(name);
        Ok(Box::new(self.part(path).map_err(|error| io::Error::other(format!("{error:#}")))?))
    }

    /// Writes the model, and gives all files their names.
    pub fn finish(mut self, model: &[u8]) -> Result<()> {
        let path = self.target.output.clone();
        let mut file = self.part(path)?;
        file.write_all(model)?;
        file.flush()?;
        drop(file);
        for (part, path) in std::mem::take(&mut self.parts) {
            fs::rename(&part, &path).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(())
    }

    /// Returns the number of bytes of the original.
    pub fn original_bytes(&self) -> u64 {
        let files = self.sources.iter().filter_map(|path| path.metadata().ok());
        files.map(|metadata| metadata.len()).sum()
    }

    /// Fails if a file must not be written.
    fn check(&self, path: &Path) -> Result<()> {
        if path.canonicalize().is_ok_and(|path| self.sources.contains(&path)) {
            bail!(
                "`{}` is a file of the original; write the copy to another folder or under another name",
                path.display()
            );
        }
        if path.is_dir() {
            bail!("`{}` is a folder", path.display());
        }
        if !self.target.force && path.symlink_metadata().is_ok() {
            bail!("`{}` exists; choose another name, or replace it with `--force`", path.display());
        }
        Ok(())
    }

    /// Creates a file under a temporary name.
    fn part(&mut self, path: PathBuf) -> Result<Named> {
        self.check(&path)?;
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        if self.target.force {
            let _ = fs::remove_file(&part);
        }
        let file = File::create_new(&part);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => anyhow!(
                "`{}` exists, perhaps of a copy that was interrupted; remove it, or replace it with `--force`",
                part.display()
            ),
            _ => anyhow!("cannot create `{}`: {error}", part.display()),
        })?;
        self.parts.push((part.clone(), path));
        Ok(Named { file, path: part })
    }
}

/// Files that are not complete are removed.
impl Drop for Files<'_> {
    fn drop(&mut self) {
        for (part, _) in &self.parts {
            let _ = fs::remove_file(part);
        }
    }
}

impl Named {
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        let path = self.path.display();
        result.map_err(|error| io::Error::other(format!("cannot write `{path}`: {error}")))
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed)
    }
}

/// Reports why there is no copy of a model.
pub fn failed(failure: Failure, original: &Path) -> anyhow::Error {
    match failure {
        Failure::Model(problems) => anyhow!("{}", problems.report(&original.display().to_string())),
        Failure::Write(error) => anyhow!(error),
    }
}

/// Fails if the original compiles and its copy does not.
pub fn check(original: &Path, copy: &Path) -> Result<()> {
    let options = Options::default();
    if onnx_embed_ir::load(original, &options).is_err() {
        return Ok(());
    }
    let copied = onnx_embed_ir::load(copy, &options);
    copied.map(drop).map_err(|problems| {
        let problems = problems.messages().join("; ");
        anyhow!("`{}` does not compile, although the original does: {}", copy.display(), shown(&problems))
    })
}

/// Parses a number of bytes, as in `2GB`.
fn size(text: &str) -> Result<u64, String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kb" => Some(1000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        _ => None,
    };
    let bytes =
        number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| "expected a size, as in 2GB, 500MB or 1GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("2GB"), Ok(2_000_000_000));
        assert_eq!(size("500 mib"), Ok(500 << 20));
        assert_eq!(size("4096"), Ok(4096));
        for wrong in ["", "GB", "0", "-1", "2TBB", "1.5GB", "99999999999999999999", "18446744073709551615GB"]
        {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
