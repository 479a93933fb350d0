//! Resources that the process has used.

#[cfg(unix)]
use std::mem::MaybeUninit;
use std::time::Duration;
#[cfg(not(unix))]
use std::{sync::OnceLock, time::Instant};

/// Processor time and page faults.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    pub faults: i64,
}

impl Usage {
    /// Returns the usage since the process started.
    #[cfg(unix)]
    pub fn now() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `getrusage` writes one `rusage` to the pointer. If it fails, the zeros are a valid value too.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        Self { cpu: time(usage.ru_utime) + time(usage.ru_stime), faults: usage.ru_minflt }
    }

    /// Returns the time since the first call, on systems that do not report the usage of a process.
    #[cfg(not(unix))]
    pub fn now() -> Self {
        static START: OnceLock<Instant> = OnceLock::new();
        Self { cpu: START.get_or_init(Instant::now).elapsed(), faults: 0 }
    }

    pub fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(before.cpu), faults: self.faults - before.faults }
    }

    /// Returns the peak resident memory in bytes, or `None` if the system does not report it.
    pub fn peak() -> Option<u64> {
        reported("VmHWM:")
    }

    /// Returns the resident memory in bytes, or `None` if the system does not report it.
    pub fn resident() -> Option<u64> {
        reported("VmRSS:")
    }
}

/// A size in bytes that the system reports about this process.
fn reported(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
