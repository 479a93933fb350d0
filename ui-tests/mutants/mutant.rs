//! Chooses a mutant of an instrumented crate by the environment: copied into it by `mutants.py`.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic;
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

static CHOSEN: LazyLock<u32> = LazyLock::new(|| {
    let number = env::var("ONNX_EMBED_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    if number > 0 {
        // The first failure ends the tests.
        panic::set_hook(Box::new(|_| process::exit(101)));
    }
    number
});

static FILE: LazyLock<Option<String>> = LazyLock::new(|| env::var("ONNX_EMBED_REACHED").ok());

static REACHED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Returns true for the chosen mutant. Notes each that is reached.
pub fn is(number: u32) -> bool {
    if let Some(path) = &*FILE {
        let (word, bit) = (number as usize / 64, 1u64 << (number % 64));
        if REACHED[word].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.and_then(|mut file| writeln!(file, "{number}")).expect("the list of mutants can be written");
        }
    }
    *CHOSEN == number
}
