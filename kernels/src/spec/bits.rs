//! Packed 2-, 4- and 8-bit weights.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use super::types::TensorType;

/// Layout of a matrix with `bits` bits per element: output by output, each in blocks of `size` inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    pub inputs: usize,
    pub outputs: usize,
    pub bits: usize,
    pub size: usize,
}

/// Maximum magnitude of an integer that an element of an operand is rounded to.
pub const LEVELS: f32 = 127.0;

/// Maximum size of a block whose operand may be rounded to 8 bits: its sums fit 16 bits.
pub const MAX_BYTE_BLOCK: usize = 256;

/// Number of outputs in a panel: the lanes of the widest registers.
pub const PANEL: usize = 16;

/// Packed matrix `[inputs, outputs]` with scales and zero points of its blocks. Clones share it.
#[derive(Clone)]
pub struct BitMatrix {
    pub(crate) panels: Arc<Panels>,
    pub(crate) in_bytes: bool,
}

/// The matrix in panels of [`PANEL`] outputs. The last panel is padded with zeros.
#[derive(Clone)]
pub struct Panels {
    pub blocks: Blocks,
    /// Number of blocks per output.
    pub count: usize,
    /// For each element of the blocks its input, `None` for padding; absent if the inputs are in the order of the file.
    pub order: Option<Vec<Option<u32>>>,
    /// 32-bit words for each panel, block and output.
    pub codes: Vec<Line<u32>>,
    /// Scale for each panel, block and output, unless the zero points have them.
    pub scales: Vec<Line<f32>>,
    pub zeros: ZeroPoints,
}

/// Zero points for each panel, block and output.
#[derive(Clone)]
pub enum ZeroPoints {
    /// The middle of the range of codes.
    Middle,
    Whole(Vec<[u8; PANEL]>),
    Floats(Vec<Line<f32>>),
    /// Scales in the lower halves of the words, and products of scales and zero points in the upper ones, as f16.
    Halves(Vec<Line<u32>>),
}

/// One value for each output of a panel, in one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line<T>(pub [T; PANEL]);

impl BitMatrix {
    pub(crate) fn panels(&self) -> &Panels {
        &self.panels
    }

    /// Returns `true` if operands are rounded to 8 bits.
    pub(crate) fn is_in_bytes(&self) -> bool {
        self.in_bytes
    }
}

impl Panels {
    /// Returns the input of an element of the blocks, `None` for padding.
    pub fn input(&self, element: usize) -> Option<usize> {
        match &self.order {
            None => (element < self.blocks.inputs).then_some(element),
            Some(order) => order[element].map(|input| input as usize),
        }
    }

    /// Number of 32-bit words of a block.
    #[cfg(feature = "flex")]
    pub fn words(&self) -> usize {
        self.blocks.size * self.blocks.bits / u32::BITS as usize
    }

    /// Number of panels.
    #[cfg(feature = "flex")]
    pub fn panels(&self) -> usize {
        self.blocks.outputs.div_ceil(PANEL)
    }
}

impl fmt::Debug for BitMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BitMatrix").field(&self.panels.blocks).finish()
    }
}

impl Blocks {
    /// Returns the type of the product of `[rows, inputs]` with the matrix.
    pub fn product(&self, rows: &TensorType) -> TensorType {
        TensorType::new([rows.shape[0], self.outputs], rows.dtype)
    }
}
