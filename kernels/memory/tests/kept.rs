//! Calls within a memory, with an allocator beneath that counts.

mod counting;

use std::panic;
use std::thread;

use counting::{Counting, counts};
use onnx_embed_memory::{Memory, SessionAllocator, is_kept};

#[global_allocator]
static ALLOCATOR: SessionAllocator = SessionAllocator::over(&Counting);

/// Returns a result, and the numbers of blocks allocated and freed beneath by this thread meanwhile.
fn counted<T>(call: impl FnOnce() -> T) -> (T, usize, usize) {
    let [allocated, freed] = counts();
    let result = call();
    let after = counts();
    (result, after[0] - allocated, after[1] - freed)
}

/// Blocks of several sizes and alignments, small ones, grown ones, zeros. Returns a sum of what is in them.
fn work() -> usize {
    #[repr(align(64))]
    struct Line([u8; 64]);
    let mut grown = Vec::new();
    for number in 0..1000usize {
        grown.push(number);
    }
    let small: Vec<Box<u8>> = (0..20).map(Box::new).collect();
    let zeros = vec![0u32; 5000];
    let lines = vec![Box::new(Line([1; 64])), Box::new(Line([2; 64]))];
    for line in &lines {
        assert_eq!(&raw const **line as usize % 64, 0);
    }
    assert!(zeros.iter().all(|number| *number == 0));
    let mut dirty = vec![7u32; 5000];
    dirty[0] = 8;
    let text = format!("{}", small.len());
    let bytes: usize = lines.iter().map(|line| usize::from(line.0[63])).sum();
    grown.iter().sum::<usize>()
        + text.len()
        + bytes
        + small.iter().map(|number| usize::from(**number)).sum::<usize>()
}

#[test]
fn the_second_call_allocates_and_frees_nothing() {
    let expected = work();
    let mut memory = Memory::new();
    let (sum, allocated, _) = counted(|| memory.within(work));
    assert!(sum == expected && allocated > 20);
    assert!(memory.idle() > 5000 * 4);
    for _ in 0..10 {
        assert_eq!(counted(|| memory.within(work)), (expected, 0, 0));
    }
    let idle = memory.idle();
    let ((), allocated, freed) = counted(|| drop(memory));
    assert!(allocated == 0 && freed > 20 && idle > 0);
}

#[test]
fn calls_outside_are_those_of_the_allocator_beneath() {
    let mut memory = Memory::new();
    assert!(!is_kept());
    let inside = memory.within(|| {
        let values = vec![1u64; 100];
        assert!(is_kept());
        values
    });
    let ((), allocated, freed) = counted(|| drop(inside));
    assert_eq!((allocated, freed), (0, 1));
    // Freed within, but allocated outside: two of them are no reason to keep two.
    let outside = [vec![2u64; 300], vec![2u64; 300]];
    let ((), _, freed) = counted(|| memory.within(|| drop(outside)));
    assert_eq!(freed, 2);
    assert!(!is_kept());
}

#[test]
fn foreign_blocks_do_not_add_up() {
    let mut memory = Memory::new();
    let mut most = 0;
    for round in 0..100 {
        let outside = vec![1u64; 100];
        memory.within(|| {
            drop(vec![2u64; 100]);
            drop(outside);
        });
        if round == 1 {
            most = memory.idle();
        }
    }
    assert!(memory.idle() <= most, "{} bytes are kept", memory.idle());
}

#[test]
fn grown_and_shrunk_blocks_keep_their_contents() {
    let mut memory = Memory::new();
    for _ in 0..3 {
        let mut values: Vec<u16> = (0..50).collect();
        memory.within(|| {
            values.extend(50..400);
            values.shrink_to_fit();
        });
        values.extend(400..1000);
        memory.within(|| values.extend(1000..2000));
        assert!(values.iter().copied().eq(0..2000));
    }
}

#[test]
fn a_panic_ends_the_call() {
    let mut memory = Memory::new();
    let result = panic::catch_unwind(panic::AssertUnwindSafe(|| memory.within(|| panic!("within"))));
    assert!(result.is_err() && !is_kept());
    let ((), allocated, _) = counted(|| drop(vec![1u8; 100]));
    assert_eq!(allocated, 1);
}

#[test]
fn a_call_within_a_call_has_its_own_memory() {
    let (mut outer, mut inner) = (Memory::new(), Memory::new());
    let mut call = || outer.within(|| (vec![1u8; 10], inner.within(|| vec![2u8; 4000]).len(), vec![1u8; 20]));
    for _ in 0..2 {
        let (a, b, c) = call();
        assert_eq!((a.len(), b, c.len()), (10, 4000, 20));
    }
}

#[test]
fn other_threads_are_not_within() {
    let mut memory = Memory::new();
    memory.within(|| {
        let values = vec![1u8; 1000];
        assert!(is_kept());
        let moved = thread::spawn(move || (is_kept(), values.len()));
        assert_eq!(moved.join().unwrap(), (false, 1000));
    });
    // The memory may move to another thread.
    let length = thread::spawn(move || memory.within(|| vec![3u8; 1000]).len());
    assert_eq!(length.join().unwrap(), 1000);
}

#[test]
fn more_layouts_than_places() {
    let mut memory = Memory::new();
    // Miri takes minutes for thousands.
    let most = if cfg!(miri) { 50 } else { 3000 };
    let mut sizes = || memory.within(|| (1..most).map(|size| vec![1u8; size].len()).sum::<usize>());
    assert_eq!(sizes(), sizes());
}
