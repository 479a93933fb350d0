//! What the process has used.

#[cfg(unix)]
use std::mem::MaybeUninit;
use std::time::Duration;
#[cfg(not(unix))]
use std::{sync::OnceLock, time::Instant};

/// Time on processors and page faults.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu: Duration,
    pub faults: i64,
}

impl Usage {
    /// Since the process began.
    #[cfg(unix)]
    pub fn now() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is good for what the call writes, and zeros are a valid record too.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        Self { cpu: time(usage.ru_utime) + time(usage.ru_stime), faults: usage.ru_minflt }
    }

    /// Time on the clock since the first call, where the system does not say what a process has used.
    #[cfg(not(unix))]
    pub fn now() -> Self {
        static START: OnceLock<Instant> = OnceLock::new();
        Self { cpu: START.get_or_init(Instant::now).elapsed(), faults: 0 }
    }

    pub fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(before.cpu), faults: self.faults - before.faults }
    }

    /// The most memory that was resident at once, in bytes.
    pub fn peak() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }
}
