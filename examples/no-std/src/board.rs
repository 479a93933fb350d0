//! The microcontroller: memory, output through the debugger, and exit.

use core::alloc::{GlobalAlloc, Layout};
use core::fmt::Write;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::ptr::addr_of_mut;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hio};
use embedded_alloc::LlffHeap;

/// Size of the heap in bytes, of 4 MB of memory. The rest is for the stack.
const HEAP: usize = 3 << 20;

static mut MEMORY: [MaybeUninit<u8>; HEAP] = [MaybeUninit::uninit(); HEAP];

#[global_allocator]
static ALLOCATOR: Measured = Measured { heap: LlffHeap::empty(), peak: AtomicUsize::new(0) };

/// A heap that records its peak usage.
struct Measured {
    heap: LlffHeap,
    peak: AtomicUsize,
}

unsafe impl GlobalAlloc for Measured {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`, and so of the heap.
        let memory = unsafe { self.heap.alloc(layout) };
        self.peak.fetch_max(self.heap.used(), Relaxed);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`, and so of the heap.
        unsafe { self.heap.dealloc(memory, layout) }
    }
}

#[entry]
fn start() -> ! {
    // SAFETY: this runs once, before the first allocation, and nothing else uses this memory.
    unsafe { ALLOCATOR.heap.init(addr_of_mut!(MEMORY) as usize, HEAP) };
    let right = hio::hstdout().ok().and_then(|mut output| {
        let right = crate::read_all(&mut output).ok()?;
        let peak = ALLOCATOR.peak.load(Relaxed);
        writeln!(output, "at most {peak} bytes of memory were in use").ok()?;
        Some(right)
    });
    end(right == Some(10))
}

#[panic_handler]
fn panic(reason: &PanicInfo) -> ! {
    if let Ok(mut output) = hio::hstdout() {
        // An error of the output cannot be reported.
        let _ = writeln!(output, "{reason}");
    }
    end(false)
}

fn end(well: bool) -> ! {
    debug::exit(if well { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}
