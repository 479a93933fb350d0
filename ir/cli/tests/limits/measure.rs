//! Time and memory of one run of the program.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use nix::sys::time::TimeValLike;

/// Has this program measure one run, of which it is the only one.
pub const FLAG: &str = "--measure";

/// No run takes longer, waiting included.
const LONGEST: Duration = Duration::from_secs(600);
const MOST_SECONDS: u64 = 60;
const MOST_MEMORY: u64 = 6 << 30;

/// What a run took.
pub struct Measured {
    pub seconds: f64,
    pub bytes: usize,
    /// How it ended, if neither with code nor with a diagnostic.
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

/// Runs it, and prints what it took. A process of its own, because what the system says of processes that
/// ended is the most that any of them took.
pub fn alone(command: &str, file: &Path) -> ExitCode {
    setrlimit(Resource::RLIMIT_CPU, MOST_SECONDS, MOST_SECONDS).unwrap();
    setrlimit(Resource::RLIMIT_AS, MOST_MEMORY, MOST_MEMORY).unwrap();
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
        if start.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let time = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{}", time as f64 / 1e6);
    // Linux counts kilobytes, macOS bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!("{}", usage.max_rss() * unit);
    match status {
        None => println!("waits for more than {} s", LONGEST.as_secs()),
        Some(status) if !matches!(status.code(), Some(0 | 1)) => println!("ends with {status}"),
        Some(_) => {}
    }
    ExitCode::SUCCESS
}
