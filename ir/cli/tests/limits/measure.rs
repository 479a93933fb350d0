//! Time and memory of one run of the program.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

/// Argument with which this program measures a single run.
pub const FLAG: &str = "--measure";

/// Maximum duration of a run, including waiting time.
const MAX_DURATION: Duration = Duration::from_secs(600);
const MAX_SECONDS: u64 = 60;
const MAX_MEMORY: u64 = 6 << 30;

/// Time and memory of a run.
pub struct Measured {
    pub seconds: f64,
    pub bytes: usize,
    /// Description of the end of the run, if it ended neither with code nor with a diagnostic.
    pub end: Option<String>,
}

/// Runs a command of the program on a file.
pub fn measure(command: &str, file: &Path) -> Measured {
    let itself = std::env::current_exe().unwrap();
    let output = Command::new(itself).args([FLAG, command]).arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let seconds = lines.next().and_then(|line| line.parse().ok());
    let bytes = lines.next().and_then(|line| line.parse().ok());
    Measured {
        seconds: seconds.unwrap_or_default(),
        bytes: bytes.unwrap_or_default(),
        end: match (seconds, lines.next()) {
            (None, _) => Some("could not be measured".to_owned()),
            (_, Some(end)) => Some(end.to_owned()),
            _ => None,
        },
    }
}

/// Runs the command and prints its time and memory. It needs a process of its own, because the system reports the
/// maximum over all child processes that have ended.
pub fn alone(command: &str, file: &Path) -> ExitCode {
    setrlimit(Resource::RLIMIT_CPU, MAX_SECONDS, MAX_SECONDS).unwrap();
    setrlimit(Resource::RLIMIT_AS, MAX_MEMORY, MAX_MEMORY).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-onnx-embed"))
        .args(["onnx-embed", command])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > MAX_DURATION {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let time = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{}", time as f64 / 1e6);
    // The unit is a kilobyte on Linux, and a byte on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!("{}", usage.max_rss() * unit);
    match status {
        None => println!("waits for more than {} s", MAX_DURATION.as_secs()),
        Some(status) if !matches!(status.code(), Some(0 | 1)) => println!("ends with {status}"),
        Some(_) => {}
    }
    ExitCode::SUCCESS
}
