//! Compile time and memory of each crate.
//!
//! Cargo starts rustc through this program, which records the cost. Processor time is preferred to wall-clock time,
//! which depends on the load of the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};

use crate::style;

/// Variable with the folder for records, which is set if this program is the wrapper of rustc.
const FOLDER: &str = "ONNX_EMBED_RUSTC_COSTS";

/// Cost of compiling one crate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Wall-clock seconds.
    pub wall: f64,
    /// Processor seconds, if known.
    pub cpu: Option<f64>,
    /// Peak memory in bytes, if known.
    pub peak: Option<u64>,
}

impl Cost {
    /// Makes cargo record the cost of the crates of the workspace in `folder`.
    pub fn note(cargo: &mut Command, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        cargo.env("RUSTC_WORKSPACE_WRAPPER", program).env(FOLDER, std::path::absolute(folder)?);
        Ok(())
    }

    /// Returns the cost that the last compilation of a crate recorded.
    pub fn of(folder: &Path, name: &str) -> Option<Self> {
        let text = std::fs::read(file(folder, name)).ok()?;
        let record: Json = serde_json::from_slice(&text).ok()?;
        Some(Cost {
            wall: record["wall_seconds"].as_f64()?,
            cpu: record["cpu_seconds"].as_f64(),
            peak: record["peak_bytes"].as_u64(),
        })
    }

    /// Returns the processor seconds or, if these are unknown, the wall-clock seconds.
    pub fn seconds(self) -> f64 {
        self.cpu.unwrap_or(self.wall)
    }

    /// Describes the total time, the slowest crate, and the largest peak memory of one crate.
    pub fn summary<'n>(costs: impl IntoIterator<Item = (&'n str, Cost)>) -> Option<String> {
        let costs: Vec<(&str, Cost)> = costs.into_iter().collect();
        let total: f64 = costs.iter().map(|(_, cost)| cost.seconds()).sum();
        let by_time =
            |one: &&(&str, Cost), other: &&(&str, Cost)| one.1.seconds().total_cmp(&other.1.seconds());
        let (slowest, time) = costs.iter().max_by(by_time)?;
        let (largest, memory) = costs.iter().max_by_key(|(_, cost)| cost.peak)?;
        let mut text = format!(
            "rustc: {} in total, at most {} ({slowest})",
            style::seconds(total),
            style::seconds(time.seconds())
        );
        if let Some(peak) = memory.peak {
            text.push_str(&format!(" and {} ({largest})", style::bytes(peak)));
        }
        Some(text)
    }

    pub fn to_json(self) -> Json {
        json!({
            "wall_seconds": self.wall,
            "cpu_seconds": self.cpu,
            "peak_bytes": self.peak,
        })
    }
}

/// Runs rustc if cargo started this program as its wrapper. Otherwise returns `None`.
pub fn run() -> Option<ExitCode> {
    let folder = PathBuf::from(std::env::var_os(FOLDER)?);
    let mut words = std::env::args_os().skip(1);
    let rustc = words.next()?;
    Some(match compile(&folder, &rustc, words.collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    })
}

fn compile(folder: &Path, rustc: &OsString, words: Vec<OsString>) -> Result<ExitCode> {
    let mut following = words.iter().skip_while(|word| *word != "--crate-name");
    let name = following.nth(1).and_then(|name| name.to_str());
    // Cargo queries the capabilities of rustc with a name that no crate has.
    let name = name.filter(|name| *name != "___");
    let start = Instant::now();
    let status = Command::new(rustc)
        .args(&words)
        // Compilations that rustc starts in turn are not recorded.
        .env_remove(FOLDER)
        .status()
        .with_context(|| format!("cannot run `{}`", rustc.display()))?;
    if let Some(name) = name.filter(|_| status.success()) {
        let (cpu, peak) = children();
        let wall = start.elapsed().as_secs_f64();
        let cost = Cost { wall, cpu, peak };
        std::fs::write(file(folder, name), cost.to_json().to_string())?;
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension("json")
}

/// Returns the processor seconds of the child processes that have ended, and the peak memory of the largest one.
#[cfg(unix)]
fn children() -> (Option<f64>, Option<u64>) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return (None, None);
    };
    let time = usage.user_time() + usage.system_time();
    // The unit is a byte on Apple systems, and a kibibyte elsewhere.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    let peak = u64::try_from(usage.max_rss()).ok();
    let peak = peak.and_then(|peak| peak.checked_mul(unit));
    (Some(time.num_microseconds() as f64 / 1e6), peak)
}

#[cfg(not(unix))]
fn children() -> (Option<f64>, Option<u64>) {
    (None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cost_is_reported_with_its_model() {
        let cost = |seconds, peak| Cost { wall: 100.0, cpu: Some(seconds), peak: Some(peak) };
        let costs = [("a", cost(20.0, 3_000_000)), ("b", cost(1.5, 500_000_000))];
        assert_eq!(
            Cost::summary(costs).as_deref(),
            Some("rustc: 22 s in total, at most 20 s (a) and 500 MB (b)")
        );
        assert_eq!(Cost::summary([]), None);
    }

    #[test]
    fn a_compilation_leaves_what_it_took() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-cost-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = folder.join("lib.rs");
        std::fs::write(&source, "pub fn f() {}").unwrap();
        let words = ["--crate-name", "tiny", "--crate-type", "lib", "--out-dir"];
        let mut words: Vec<OsString> = words.map(OsString::from).to_vec();
        words.extend([folder.clone().into(), source.into()]);
        let code = compile(&folder, &"rustc".into(), words);
        let (cost, other) = (Cost::of(&folder, "tiny"), Cost::of(&folder, "other"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(code.unwrap(), ExitCode::SUCCESS);
        let cost = cost.unwrap();
        assert!(cost.wall > 0.0 && other.is_none());
        if cfg!(unix) {
            assert!(cost.cpu > Some(0.0) && cost.peak > Some(1 << 20), "{cost:?}");
        }
    }
}
