//! The memory limit of a thread, and its default.

use core::cell::Cell;
use std::{fs, sync::OnceLock};

thread_local! {
    static LIMIT: Cell<Option<usize>> = const { Cell::new(None) };
}

pub fn get() -> Option<usize> {
    LIMIT.get()
}

pub fn replace(limit: Option<usize>) -> Option<usize> {
    LIMIT.replace(limit)
}

/// Assumed number of available bytes if the system does not report it.
const UNKNOWN: u64 = 8 << 30;

/// Returns half of the bytes that were available to the process at the first call.
pub fn default() -> usize {
    static DEFAULT: OnceLock<usize> = OnceLock::new();
    *DEFAULT.get_or_init(|| half(available().unwrap_or(UNKNOWN)))
}

fn half(bytes: u64) -> usize {
    usize::try_from(bytes / 2).unwrap_or(usize::MAX).min(isize::MAX as usize)
}

/// Returns the least of the limits that Linux reports in files, `None` on other systems.
fn available() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let own_group = read("/proc/self/cgroup").and_then(|text| group(&text));
    let own_group = own_group.map(|path| format!("/sys/fs/cgroup{path}/memory.max"));
    let groups = [
        own_group.as_deref(),
        Some("/sys/fs/cgroup/memory.max"),
        Some("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ];
    let groups = groups.into_iter().flatten();
    let groups = groups.filter_map(|path| read(path)?.trim().parse().ok());
    let physical = read("/proc/meminfo").and_then(|text| physical(&text));
    let addresses = read("/proc/self/limits").and_then(|text| addresses(&text));
    let limits = groups.chain(physical).chain(addresses);
    limits.filter(|&bytes| bytes > 0).min()
}

/// Parses the physical memory in `/proc/meminfo`, which is in KiB.
fn physical(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let number: u64 = line?.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Parses the soft limit of the address space in `/proc/self/limits`.
fn addresses(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"));
    line?.split_whitespace().next()?.parse().ok()
}

/// Parses the path of the version 2 control group in `/proc/self/cgroup`.
fn group(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    path.map(|path| path.trim_end_matches('/').to_owned()).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_linux_writes_them() {
        let memory = "MemTotal:       24689752 kB\nMemFree:         1000 kB\n";
        assert_eq!(physical(memory), Some(24_689_752 * 1024));
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max cpu time              unlimited            unlimited            seconds\n\
                 Max address space         {soft}           unlimited            bytes\n"
            )
        };
        assert_eq!(addresses(&limits("4096000000")), Some(4_096_000_000));
        assert_eq!(addresses(&limits("unlimited")), None);
        assert_eq!(group("1:name=systemd:/\n0::/user.slice/a\n").as_deref(), Some("/user.slice/a"));
        assert_eq!(group("0::/\n"), None);
    }

    #[test]
    fn a_share_is_addressable() {
        assert_eq!(half(u64::MAX), isize::MAX as usize);
        assert_eq!(half(1000), 500);
    }
}
