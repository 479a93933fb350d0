//! The processor, as plans see it.

use super::tuning;
use crate::deterministic;
use crate::flex::{
    simd::{DotInstructions, InstructionSet},
    threads::count,
};

/// Properties of the processor that plans depend on.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub tile: TileSize,
    /// Tiles for which the algorithm of a sum is chosen: those of this processor, or in deterministic calls the same on all.
    pub chosen_for: TileSize,
    /// Returns the maximum number of threads of a kernel. It is called only if several threads shorten the work,
    /// because counting the threads of the pool starts them.
    pub threads: fn() -> usize,
}

/// Size of the tiles of an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct TileSize {
    /// Number of 32-bit lanes of a register.
    pub lanes: usize,
    /// Maximum number of rows.
    pub mr: usize,
    /// Maximum number of columns, unless a tile has one row.
    pub nr: usize,
}

impl Machine {
    /// The processor with the tiles of floats of an instruction set.
    pub fn of_floats(set: InstructionSet) -> Self {
        let tile = TileSize::of_floats(set);
        let chosen_for = if deterministic::is_on() { TileSize::OF_ALL } else { tile };
        Self { tile, chosen_for, threads: count }
    }

    /// The processor with the tiles of bytes of its instructions.
    pub fn of_bytes(dot: DotInstructions) -> Self {
        let tile = TileSize::of_bytes(dot);
        Self { tile, chosen_for: tile, threads: count }
    }

    /// Number of threads that multiplications of floats are worth.
    pub fn threads_for(&self, multiplications: usize) -> usize {
        self.threads_reading(multiplications, 0)
    }

    /// Number of threads of a kernel that takes as long as the multiplications, or as reading or writing the bytes.
    pub fn threads_reading(&self, multiplications: usize, bytes: usize) -> usize {
        limited(multiplications, bytes, self.threads)
    }
}

impl TileSize {
    /// Tiles for which deterministic calls choose on all processors: those of AVX-512.
    const OF_ALL: Self = Self { lanes: 16, mr: 14, nr: 32 };

    /// Tiles of floats.
    pub fn of_floats(set: InstructionSet) -> Self {
        Self { lanes: set.lanes(), mr: set.mr(), nr: set.nr() }
    }

    /// Tiles of bytes.
    pub fn of_bytes(dot: DotInstructions) -> Self {
        Self { lanes: dot.lanes(), mr: dot.mr(), nr: dot.nr() }
    }

    /// Number of bands into which threads divide a plane of output pixels.
    pub fn bands(&self, plane: usize, threads: usize) -> usize {
        threads.min(plane / (tuning::min_band_tiles() * self.nr)).max(1)
    }

    /// Returns true if one instruction moves the lanes of a mask together, as AVX-512 does.
    pub fn has_fast_packing(&self) -> bool {
        self.lanes == 16
    }

    /// Maximum number of registers of columns of a tile with `rows` rows.
    pub fn registers(&self, rows: usize) -> usize {
        if rows == 1 { 2 * self.nr / self.lanes } else { self.nr / self.lanes }
    }
}

/// Number of threads of a kernel that this thread calls, for multiplications of floats.
pub fn threads(multiplications: usize) -> usize {
    threads_reading(multiplications, 0)
}

/// The same for a kernel that takes as long as the multiplications, or as reading or writing the bytes.
pub fn threads_reading(multiplications: usize, bytes: usize) -> usize {
    limited(multiplications, bytes, count)
}

/// Number of threads that shorten the work by more than it takes to wake them, at most `threads`.
fn limited(multiplications: usize, bytes: usize, threads: fn() -> usize) -> usize {
    let of_multiplications = multiplications / tuning::multiplications_per_thread();
    let worth = of_multiplications.max(bytes / tuning::bytes_per_thread());
    if worth <= 1 { 1 } else { worth.min(threads()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_does_not_count_the_threads() {
        let machine = Machine {
            threads: || panic!("the threads are counted"),
            ..Machine::of_floats(InstructionSet::best())
        };
        assert_eq!(machine.threads_for(2 * tuning::multiplications_per_thread() - 1), 1);
        let machine = Machine { threads: || 2, ..machine };
        assert_eq!(machine.threads_for(9 * tuning::multiplications_per_thread()), 2);
        assert_eq!(machine.threads_reading(0, 9 * tuning::bytes_per_thread()), 2);
    }
}
