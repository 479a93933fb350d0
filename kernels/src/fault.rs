//! Failures of a node on the data of a run.

#[cfg_attr(not(feature = "std"), path = "fault/state/bare.rs")]
mod state;

use alloc::{boxed::Box, format, string::String, string::ToString, vec::Vec};
use core::{
    any::Any,
    fmt,
    future::{Future, poll_fn},
};

use state::{attempted, current, passed, unwind};

/// Error of a node on the data of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The node of the model, if known.
    pub node: Option<Name>,
    pub reason: String,
}

/// Name of a node in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    pub node: &'static str,
    pub operator: &'static str,
}

/// Runs a step under the name of its node.
pub fn at<T>(name: Name, step: impl FnOnce() -> T) -> T {
    let _node = Restore(current::replace(Some(name)));
    step()
}

/// Async version of [`at`].
pub fn at_async<T>(name: Name, step: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut step = Box::pin(step);
    poll_fn(move |context| at(name, || step.as_mut().poll(context)))
}

/// Returns the running node.
pub(crate) fn current_node() -> Option<Name> {
    current::get()
}

/// Guard that restores the outer node as the running one.
struct Restore(Option<Name>);

impl Drop for Restore {
    fn drop(&mut self) {
        passed::note(current::replace(self.0));
    }
}

/// Fails the running node: an enclosing [`attempt`](crate::attempt::attempt) returns the error, otherwise it
/// is a panic with the same text.
///
/// Must be called on the thread of the node.
#[cold]
#[inline(never)]
#[track_caller]
pub fn fail(reason: impl fmt::Display) -> ! {
    let fault = Fault { node: current::get(), reason: reason.to_string() };
    unwind(fault)
}

/// Returns `true` if an enclosing `attempt` returns failures as errors.
pub fn is_attempted() -> bool {
    attempted::get()
}

/// [`fail`]s with the text unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            $crate::fault::fail(format_args!($($text)+))
        }
    };
}

/// Returns the value of `run`, or its failure.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Fault> {
    let outer = attempted::replace(true);
    let result = state::caught(run);
    attempted::replace(outer);
    result.map_err(of_panic)
}

/// Converts the payload of a panic into a failure.
fn of_panic(payload: Box<dyn Any + Send>) -> Fault {
    match payload.downcast::<Fault>() {
        Ok(fault) => *fault,
        Err(payload) => Fault { node: passed::take(), reason: reason(&text(payload.as_ref())) },
    }
}

/// Returns the text of a panic.
pub(crate) fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("unknown panic").to_string()
}

/// Returns the text of a panic as one sentence. Burn writes a heading, the operation, and its reasons as a numbered list.
fn reason(text: &str) -> String {
    let Some(report) = text.strip_prefix("=== Tensor Operation Error ===") else {
        return text.to_string();
    };
    let mut lines = report.lines().map(str::trim);
    let operation = lines.find_map(|line| line.strip_prefix("Operation: "));
    let reasons = lines.filter_map(|line| line.split_once(". ").filter(|(at, _)| is_number(at)));
    let reasons: Vec<&str> = reasons.map(|(_, reason)| reason).collect();
    match operation {
        Some(operation) if !reasons.is_empty() => {
            format!("{} (Burn's {operation})", reasons.join(" "))
        }
        _ => text.to_string(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(Name { node, operator }) => write!(f, "cannot run `{node}` ({operator}): ")?,
            None => f.write_str("cannot run the model: ")?,
        }
        f.write_str(&self.reason)
    }
}

impl core::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;
    use crate::attempt::attempt;

    const NODE: Name = Name { node: "/emb/Gather", operator: "Gather" };
    const INNER: Name = Name { node: "/emb/Add", operator: "Add" };

    fn message(run: impl FnOnce()) -> String {
        attempt(run).unwrap_err().to_string()
    }

    #[test]
    fn a_failure_names_the_node_that_ran() {
        let run = || at(NODE, || fail("index 9 is out of bounds for axis 0 of size 5"));
        let expected = "cannot run `/emb/Gather` (Gather): index 9 is out of bounds for axis 0 of size 5";
        assert_eq!(message(run), expected);
        let panic = catch_unwind(run).unwrap_err();
        assert_eq!(text(panic.as_ref()), expected);
        assert_eq!(message(|| fail("no memory")), "cannot run the model: no memory");
    }

    #[test]
    fn a_node_ends_with_its_step() {
        let run = || {
            at(NODE, || at(INNER, || ()));
            fail("later");
        };
        assert_eq!(message(run), "cannot run the model: later");
        let run = || {
            at(NODE, || {
                at(INNER, || ());
                fail("between");
            })
        };
        assert_eq!(message(run), "cannot run `/emb/Gather` (Gather): between");
    }

    #[test]
    fn other_panics_are_of_the_innermost_node() {
        let run = || at(NODE, || at(INNER, || std::panic::resume_unwind(Box::new("oh"))));
        assert_eq!(message(run), "cannot run `/emb/Add` (Add): oh");
        let run = || std::panic::resume_unwind(Box::new(7));
        assert_eq!(message(run), "cannot run the model: unknown panic");
    }

    #[test]
    fn reports_of_burn_become_a_sentence() {
        use burn::tensor::{Device, Tensor};
        let device = Device::default();
        let found = message(|| {
            at(NODE, || {
                drop(Tensor::<2>::zeros([2, 3], &device) + Tensor::<2>::zeros([2, 4], &device));
            })
        });
        assert!(found.starts_with("cannot run `/emb/Gather` (Gather): The provided tensors have"), "{found}");
        assert!(found.ends_with("(Burn's 'Add')") && !found.contains('\n'), "{found}");
        assert!(found.contains("[2, 3]") && found.contains("[2, 4]"), "{found}");
    }

    #[test]
    fn an_attempt_inside_of_another_fails_alone() {
        let run = || {
            let inner = attempt(|| at(INNER, || fail("inside"))).unwrap_err();
            assert_eq!(inner.reason, "inside");
            at(NODE, || fail("outside"));
        };
        assert_eq!(message(run), "cannot run `/emb/Gather` (Gather): outside");
        assert_eq!(attempt(|| 3), Ok(3));
    }
}
