//! Pages of files that are not needed for now.

/// Minimum number of bytes that are worth a system call.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LEAST: usize = 64 << 10;

/// Returns the pages that are completely within `bytes` to the system, which reads them again when they are used.
///
/// It does nothing for memory that is not mapped from a file, and on systems that do not tell.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn give_back(bytes: &[u8]) {
    if bytes.len() < LEAST {
        return;
    }
    let size = page_size();
    let start = bytes.as_ptr().addr();
    let (first, end) = (start.div_ceil(size), (start + bytes.len()) / size);
    if first >= end || !are_of_files(first, end).unwrap_or(false) {
        return;
    }
    let inside = &bytes[first * size - start..end * size - start];
    // SAFETY: the pages are absent or unchanged pages of a file, so that reading them gives the same bytes again.
    unsafe {
        libc::madvise(inside.as_ptr().cast_mut().cast(), inside.len(), libc::MADV_DONTNEED);
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn give_back(_: &[u8]) {}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn page_size() -> usize {
    // SAFETY: the call reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("pages have a size")
}

/// Returns true if no page is private to this process, as pages of anonymous memory are, and changed pages of a file.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn are_of_files(first: usize, end: usize) -> std::io::Result<bool> {
    use std::os::unix::fs::FileExt;

    const OF_A_FILE: u64 = 1 << 61;
    const SWAPPED: u64 = 1 << 62;
    const PRESENT: u64 = 1 << 63;

    let map = std::fs::File::open("/proc/self/pagemap")?;
    let mut entries = [0u64; 4096];
    // Emulators show the pages of another process, where these are absent.
    let mut is_seen = false;
    for at in (first..end).step_by(entries.len()) {
        let entries = &mut entries[..(end - at).min(4096)];
        map.read_exact_at(bytemuck::cast_slice_mut(entries), 8 * at as u64)?;
        let is_kept = |entry: &u64| match entry & (SWAPPED | PRESENT) {
            0 => true,
            PRESENT => entry & OF_A_FILE != 0,
            _ => false,
        };
        if !entries.iter().all(is_kept) {
            return Ok(false);
        }
        is_seen |= entries.iter().any(|entry| entry & PRESENT != 0);
    }
    Ok(is_seen)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    static IN_THE_PROGRAM: [u8; 1 << 20] = [7; 1 << 20];

    fn sum(bytes: &[u8]) -> u64 {
        bytes.iter().map(|byte| u64::from(*byte)).sum()
    }

    /// The part of the pages of `bytes` that the process has.
    fn present(bytes: &[u8]) -> f64 {
        use std::os::unix::fs::FileExt;

        let first = bytes.as_ptr().addr() / page_size();
        let mut entries = vec![0u64; bytes.len() / page_size()];
        let map = std::fs::File::open("/proc/self/pagemap").unwrap();
        map.read_exact_at(bytemuck::cast_slice_mut(&mut entries), 8 * first as u64).unwrap();
        let present = entries.iter().filter(|entry| *entry >> 63 == 1);
        present.count() as f64 / entries.len() as f64
    }

    #[test]
    fn pages_of_the_program_leave_and_come_back() {
        let bytes = std::hint::black_box(&IN_THE_PROGRAM[5..]);
        let before = sum(bytes);
        assert!(present(bytes) > 0.7);
        give_back(bytes);
        assert!(present(bytes) < 0.3);
        assert_eq!(sum(bytes), before);
    }

    #[test]
    fn memory_of_the_process_stays() {
        let mut bytes = vec![0u8; 1 << 20];
        bytes[1 << 19] = 3;
        give_back(&bytes);
        assert_eq!(sum(&bytes), 3);
    }

    #[test]
    fn a_page_of_a_file_that_was_written_to_stays() {
        use std::os::fd::AsRawFd;

        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let (length, access) = (1 << 20, libc::PROT_READ | libc::PROT_WRITE);
        let (none, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new map replaces no memory.
        let first = unsafe { libc::mmap(none, length, access, libc::MAP_PRIVATE, fd, 0) };
        assert_ne!(first, libc::MAP_FAILED);
        // SAFETY: the private map is of this test alone, and the file is longer.
        let bytes = unsafe { std::slice::from_raw_parts_mut(first.cast::<u8>(), length) };
        bytes[70_000] = !bytes[70_000];
        let before = sum(bytes);
        give_back(bytes);
        assert_eq!(sum(bytes), before);
        assert!(present(bytes) > 0.7);
    }
}
