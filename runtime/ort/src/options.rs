//! Options of environments, sessions and runs.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ort_sys::{OrtEnv, OrtPrepackedWeightsContainer, OrtRunOptions, OrtSessionOptions, OrtThreadingOptions};

use crate::handle::{Handle, locked};
use crate::status::Failure;

/// An environment. It has no state but the number of threads.
pub(crate) struct Environment {
    /// Number of threads of sessions without one of their own, 0 for the default.
    pub threads: usize,
}

impl Handle for Environment {
    type Raw = OrtEnv;
    const NAME: &'static str = "env";
}

/// Options of the thread pool of an environment.
#[derive(Default)]
pub(crate) struct ThreadingOptions {
    pub threads: AtomicUsize,
}

impl Handle for ThreadingOptions {
    type Raw = OrtThreadingOptions;
    const NAME: &'static str = "threading options";
}

/// Container of packed weights, which this backend does not use: each session packs its own.
pub(crate) struct PackedWeights;

impl Handle for PackedWeights {
    type Raw = OrtPrepackedWeightsContainer;
    const NAME: &'static str = "prepacked weights container";
}

/// Options of a session. Other threads may cancel the load, hence the lock.
#[derive(Default)]
pub(crate) struct SessionOptions {
    pub settings: Mutex<Settings>,
    pub cancelled: AtomicBool,
}

impl Handle for SessionOptions {
    type Raw = OrtSessionOptions;
    const NAME: &'static str = "session options";
}

/// Values of the options of a session.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// Number of threads of a run, 0 for the default.
    pub threads: usize,
    /// `true` if the number of threads is that of the environment.
    pub shared_threads: bool,
    /// Values of named sizes.
    pub sizes: Vec<(String, i64)>,
    /// Contents of external data files by their paths in the model.
    pub files: Vec<(PathBuf, Arc<[u8]>)>,
    /// Further entries by key.
    pub entries: Vec<(String, CString)>,
}

impl Settings {
    /// Returns the entry called `key`.
    pub(crate) fn entry(&self, key: &str) -> Option<&CString> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets the entry called `key`.
    pub(crate) fn set_entry(&mut self, key: &str, value: CString) {
        self.entries.retain(|(name, _)| name != key);
        self.entries.push((key.to_owned(), value));
    }

    /// Sets the size of all axes called `name`.
    ///
    /// # Errors
    ///
    /// If the size is negative, or another one than before.
    pub(crate) fn set_size(&mut self, name: &str, size: i64) -> Result<(), Failure> {
        if size < 0 {
            return Err(Failure::argument(format!("size {size} of `{name}`")));
        }
        match self.sizes.iter().find(|(known, _)| known == name) {
            Some((_, known)) if *known != size => {
                Err(Failure::argument(format!("size {size} of `{name}`, which is {known} already")))
            }
            Some(_) => Ok(()),
            None => {
                self.sizes.push((name.to_owned(), size));
                Ok(())
            }
        }
    }
}

impl SessionOptions {
    /// Returns a copy of the settings.
    pub(crate) fn snapshot(&self) -> Settings {
        locked(&self.settings).clone()
    }

    /// Returns an error if another thread cancelled the load.
    pub(crate) fn check_cancelled(&self) -> Result<(), Failure> {
        let error = || Failure::new(ort_sys::OrtErrorCode::ORT_FAIL, "the load of the model was cancelled");
        if self.cancelled.load(Ordering::Acquire) { Err(error()) } else { Ok(()) }
    }
}

/// Options of a run. Other threads may terminate it.
#[derive(Clone)]
pub(crate) struct RunOptions(pub Arc<RunSettings>);

/// Values of the options of a run.
#[derive(Default)]
pub(crate) struct RunSettings {
    pub terminated: AtomicBool,
    pub tag: Mutex<CString>,
    pub severity: AtomicI32,
    pub verbosity: AtomicI32,
}

impl Handle for RunOptions {
    type Raw = OrtRunOptions;
    const NAME: &'static str = "run options";
}

impl RunSettings {
    /// Returns an error if the run was terminated.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        // The text of ONNX Runtime, which programs compare.
        let error = || {
            Failure::new(ort_sys::OrtErrorCode::ORT_FAIL, "Exiting due to terminate flag being set to true.")
        };
        if self.terminated.load(Ordering::Acquire) { Err(error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_one_value() {
        let mut settings = Settings::default();
        settings.set_size("batch", 2).unwrap();
        settings.set_size("batch", 2).unwrap();
        assert!(settings.set_size("batch", 3).is_err());
        assert!(settings.set_size("rows", -1).is_err());
    }

    #[test]
    fn the_last_value_of_an_entry_counts() {
        let mut settings = Settings::default();
        settings.set_entry("a", c"1".into());
        settings.set_entry("a", c"2".into());
        assert_eq!(settings.entry("a"), Some(&CString::from(c"2")));
    }
}
