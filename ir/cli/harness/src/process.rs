//! Runs one model in a separate process.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::message::Request;

/// Result of a model's process.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<A> {
    Answer(A),
    /// The program reported why it cannot run the model.
    Refused(String),
    /// The process panicked, overflowed its stack, was killed or took too long.
    Died(String),
}

/// Prefix of the line with the reply. The runner's crate has the same constant.
const ANSWER: &str = "onnx-embed-runner: ";

/// Sends a request to a program and waits for its reply. Standard error goes to the file `messages`.
pub fn ask<A: DeserializeOwned>(
    program: &Path,
    request: &Request,
    threads: Option<usize>,
    limit: Duration,
    messages: &Path,
) -> Result<Outcome<A>> {
    ask_with(program, request, threads, &[], limit, messages)
}

/// Variant of [`ask`] with additional environment variables.
pub fn ask_with<A: DeserializeOwned>(
    program: &Path,
    request: &Request,
    threads: Option<usize>,
    variables: &[(&str, String)],
    limit: Duration,
    messages: &Path,
) -> Result<Outcome<A>> {
    let answers = messages.with_extension("out");
    let mut command = Command::new(program);
    command
        .arg(serde_json::to_string(request)?)
        .env("RUST_BACKTRACE", "0")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdout(File::create(&answers)?)
        .stderr(File::create(messages)?);
    if let Some(threads) = threads {
        command.env("RAYON_NUM_THREADS", threads.to_string());
    }
    let failed = || format!("cannot run `{}`", program.display());
    let mut child = command.spawn().with_context(failed)?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (output, errors) = (read(&answers), read(messages));
    let _ = std::fs::remove_file(&answers);
    Ok(match status {
        None => Outcome::Died(format!("timed out after {} s", limit.as_secs())),
        Some(status) => judge(status, &output, &errors),
    })
}

fn judge<A: DeserializeOwned>(status: ExitStatus, output: &str, errors: &str) -> Outcome<A> {
    let answer = output.lines().find_map(|line| line.strip_prefix(ANSWER));
    match (status.code(), answer) {
        (Some(0), Some(answer)) => match serde_json::from_str(answer) {
            Ok(answer) => Outcome::Answer(answer),
            Err(error) => Outcome::Died(format!("sent an invalid reply: {error}")),
        },
        (Some(1), None) => Outcome::Refused(errors.trim().to_owned()),
        (Some(101), _) => Outcome::Died(panic(errors)),
        _ if errors.contains("has overflowed its stack") => Outcome::Died("overflowed its stack".to_owned()),
        _ => Outcome::Died(format!("ended with {status}: {}", last_line(errors))),
    }
}

/// Returns the whole message of the first panic, and its location.
fn panic(errors: &str) -> String {
    let mut lines = errors.lines();
    let location = lines.find_map(|line| line.split_once(" panicked at "));
    let Some((_, location)) = location else {
        return format!("panicked: {}", last_line(errors));
    };
    // A message may have several lines with any text. It ends at the advice of the standard library on backtraces, or
    // at the next panic.
    let is_after = |line: &str| {
        line.starts_with("note: run with `RUST_BACKTRACE=")
            || line.starts_with("stack backtrace:")
            || (line.starts_with("thread '") && line.contains(" panicked at "))
    };
    let message: Vec<&str> = lines.take_while(|line| !is_after(line)).collect();
    let message = message.join("\n");
    format!("panicked: {} (at {})", message.trim(), location.trim_end_matches(':'))
}

fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev();
    lines.find(|line| !line.trim().is_empty()).unwrap_or_default()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::message::Devices;

    #[test]
    fn an_answer_is_one_line_among_others() {
        let output = "hello\nonnx-embed-runner: {\"devices\":1}\n";
        let answer = Outcome::Answer(Devices { devices: 1 });
        assert_eq!(judge(ExitStatus::from_raw(0), output, ""), answer);
    }

    #[test]
    fn an_answer_without_a_field_is_none() {
        let output = "onnx-embed-runner: {}\n";
        let judged: Outcome<Devices> = judge(ExitStatus::from_raw(0), output, "");
        assert!(matches!(judged, Outcome::Died(text) if text.contains("missing field `devices`")));
    }

    #[test]
    fn a_panic_is_reported_with_its_location() {
        let errors = "\nthread 'main' (7) panicked at src/a.rs:1:2:\nno\n\nnote: way\nat all\n\
                      note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let died = Outcome::Died("panicked: no\n\nnote: way\nat all (at src/a.rs:1:2)".to_owned());
        assert_eq!(judge::<Devices>(ExitStatus::from_raw(101 << 8), "", errors), died);
    }

    #[test]
    fn a_stack_overflow_differs_from_other_aborts() {
        let errors = "thread 'main' has overflowed its stack\nfatal runtime error\n";
        let judged = |errors| judge::<Devices>(ExitStatus::from_raw(6), "", errors);
        assert_eq!(judged(errors), Outcome::Died("overflowed its stack".to_owned()));
        assert!(matches!(judged("bad\n"), Outcome::Died(text) if text.ends_with(": bad")));
    }

    #[test]
    fn a_refusal_is_what_the_program_says() {
        let judged = judge::<Devices>(ExitStatus::from_raw(1 << 8), "", "missing input `x`\n");
        assert_eq!(judged, Outcome::Refused("missing input `x`".to_owned()));
    }
}
