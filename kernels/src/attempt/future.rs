//! Async version of attempts. Other futures may run in between.

use alloc::{boxed::Box, vec::Vec};
use core::future::{Future, poll_fn};
use core::task::Poll;

use super::{checks::Check, pending};
use crate::{
    fault::{Fault, caught},
    reader::Waiting,
};

/// Async version of [`attempt`](super::attempt).
pub fn attempt_async<T>(run: impl Future<Output = T>) -> impl Future<Output = Result<T, Fault>> {
    // Parameters of an async function would be in its future twice.
    let mut run = Box::pin(run);
    let mut checks = Vec::new();
    async move {
        let result = poll_fn(|context| {
            let outer = pending::replace(Some(core::mem::take(&mut checks)));
            let polled = caught(|| run.as_mut().poll(context));
            checks = pending::replace(outer).unwrap_or_default();
            match polled {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                Err(fault) => Poll::Ready(Err(fault)),
            }
        });
        let result = result.await;
        // A wrong index is reported first: it may be the cause of the failure.
        Check::all(checks, Waiting).await?;
        result
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::attempt::attempt;
    use crate::fault::{Name, at_async, fail};
    use crate::reader::now;

    const NODE: Name = Name { node: "/emb/Gather", operator: "Gather" };
    const OTHER: Name = Name { node: "/head/Add", operator: "Add" };

    /// Waits once.
    async fn pause() {
        let mut waited = false;
        poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await
    }

    /// Polls futures in turn.
    fn in_turn<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting: Vec<_> = futures.into_iter().map(Box::pin).map(Some).collect();
        let mut results: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            for (future, result) in waiting.iter_mut().zip(&mut results) {
                let polled = future.as_mut().map(|one| one.as_mut().poll(&mut context));
                if let Some(Poll::Ready(value)) = polled {
                    (*future, *result) = (None, Some(value));
                }
            }
        }
        results.into_iter().flatten().collect()
    }

    #[test]
    fn a_step_that_waits_keeps_its_node() {
        let run = |name: Name, fails: bool| async move {
            attempt_async(at_async(name, async move {
                pause().await;
                if fails {
                    fail("the table is empty");
                }
            }))
            .await
        };
        let found = in_turn(vec![run(NODE, true), run(OTHER, false), run(OTHER, true)]);
        let found = found.into_iter().map(|one| one.map_err(|fault| fault.node));
        let found: Vec<Result<(), _>> = found.collect();
        assert_eq!(found, [Err(Some(NODE)), Ok(()), Err(Some(OTHER))]);
    }

    #[test]
    fn code_between_two_polls_has_no_node() {
        let waits = async { attempt_async(at_async(NODE, pause())).await.map_err(|_| None) };
        let between = async {
            pause().await;
            let failed: Result<(), Fault> = attempt(|| fail("between"));
            failed.map_err(|fault| Some(fault.node))
        };
        type Failed = Result<(), Option<Option<Name>>>;
        type Boxed = Pin<Box<dyn Future<Output = Failed>>>;
        let futures: Vec<Boxed> = vec![Box::pin(waits), Box::pin(between)];
        assert_eq!(in_turn(futures), [Ok(()), Err(Some(None))]);
    }

    #[test]
    fn other_panics_are_errors_of_the_innermost_node() {
        let run = attempt_async(at_async(NODE, async {
            at_async(OTHER, async { std::panic::resume_unwind(Box::new("oh")) }).await
        }));
        let failed: Result<(), Fault> = now(run);
        assert_eq!(failed.unwrap_err().to_string(), "cannot run `/head/Add` (Add): oh");
    }
}
