//! Parallel work, with results in order of completion.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Stack size of a thread in bytes; it is larger than that of macros in rustc.
const STACK: usize = 16 << 20;

/// Returns the number of cores, or 1 if it is unknown.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for each item on several threads, and `done` with each result on the current thread.
pub fn each<'a, T: Sync, R: Send>(
    items: &'a [T],
    threads: usize,
    work: impl Fn(&'a T) -> R + Sync,
    mut done: impl FnMut(&'a T, R),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let (next, work, sender) = (&next, &work, sender.clone());
            let thread = move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if sender.send((item, work(item))).is_err() {
                        return;
                    }
                }
            };
            let builder = thread::Builder::new().stack_size(STACK);
            if builder.spawn_scoped(scope, thread).is_err() {
                // The other threads process all items. If no thread was started, there are no results.
                break;
            }
        }
        drop(sender);
        for (item, result) in receiver {
            done(item, result);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once() {
        let items: Vec<usize> = (0..100).collect();
        let mut squares = vec![0; items.len()];
        each(&items, 7, |item| item * item, |item, square| squares[*item] += square);
        assert!(items.iter().all(|&item| squares[item] == item * item));
    }
}
