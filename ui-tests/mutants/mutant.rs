//! Chooses a mutant of an instrumented crate by the environment: copied into it by `mutants.py`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic;
use std::process;
use std::sync::LazyLock;
use std::thread;

static CHOSEN: LazyLock<u32> = LazyLock::new(|| {
    let number = env::var("ONNX_EMBED_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    if number > 0 {
        // The first failure ends the tests.
        panic::set_hook(Box::new(|_| process::exit(101)));
    }
    number
});

static FILE: LazyLock<Option<String>> = LazyLock::new(|| env::var("ONNX_EMBED_REACHED").ok());

thread_local! {
    static REACHED: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// Returns true for the chosen mutant. Notes each that is reached, with the name of the thread: that of a test.
pub fn is(number: u32) -> bool {
    if let Some(path) = &*FILE
        && REACHED.with_borrow_mut(|reached| reached.insert(number))
    {
        let thread = thread::current();
        let line = format!("{number}\t{}\n", thread.name().unwrap_or_default());
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of mutants can be written");
    }
    *CHOSEN == number
}
