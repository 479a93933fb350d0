//! Runs cases in a separate process, which may end or hang.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{PANIC, STACK, caught, ignore_panics};
use crate::case::Case;
use crate::device::Chosen;

/// Prefix of a line with the result of a case. Models and drivers may print other lines.
const ANSWER: &str = "onnx-embed-conformance: ";

/// Time limit of a case. The slowest cases compile some hundred shaders.
const LIMIT: Duration = Duration::from_secs(180);

/// Maximum number of cases that a process runs, since it keeps their shaders.
const MOST: usize = 250;

/// A process that runs cases one after the other, if it is running.
#[derive(Default)]
pub struct Process(Option<Running>);

struct Running {
    child: Child,
    names: ChildStdin,
    answers: Receiver<String>,
    cases: usize,
}

impl Process {
    /// Runs a case. A process in which a case fails is not used again.
    pub fn run(&mut self, case: &str) -> Result<(), String> {
        let mut running = match self.0.take() {
            Some(running) => running,
            None => Running::start().map_err(|error| format!("no process starts: {error}"))?,
        };
        running.run(case)?;
        if running.cases < MOST {
            self.0 = Some(running);
        }
        Ok(())
    }
}

impl Running {
    fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(names), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its streams are closed"));
        };
        Ok(Self { child, names, answers: answers(output), cases: 0 })
    }

    fn run(&mut self, case: &str) -> Result<(), String> {
        self.cases += 1;
        // If the process has ended, `recv_timeout` returns an error.
        let _ = writeln!(self.names, "{case}");
        match self.answers.recv_timeout(LIMIT) {
            Ok(answer) => match serde_json::from_str(&answer) {
                Ok(Json::Null) => Ok(()),
                Ok(Json::String(problem)) => Err(problem),
                _ => Err(format!("its process answers {answer:?}")),
            },
            Err(RecvTimeoutError::Timeout) => Err(format!("runs longer than {} s", LIMIT.as_secs())),
            Err(RecvTimeoutError::Disconnected) => Err(match self.child.wait() {
                Ok(status) => format!("its process ends with {status}"),
                Err(error) => format!("its process ends: {error}"),
            }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the answers in a process's output as they arrive.
fn answers(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(answer) = line.strip_prefix(ANSWER)
                && sender.send(answer.to_owned()).is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Runs the cases that standard input names, and prints the problem of each, or `null`.
pub fn serve(cases: &[Case], chosen: &Chosen) {
    ignore_panics();
    let work = || {
        for name in io::stdin().lines().map_while(Result::ok) {
            let case = cases.iter().find(|case| case.name() == name);
            let result = case.map_or(Err("there is no such case".to_owned()), |case| caught(case, chosen));
            let problem = result.err().map(|problem| match PANIC.get() {
                Some(panic) => format!("{problem} ({})", panic.replace('\n', " ")),
                None => problem,
            });
            println!("{ANSWER}{}", json!(problem));
        }
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, work).unwrap();
    });
}
