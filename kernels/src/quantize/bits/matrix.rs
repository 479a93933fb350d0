//! Packed 2-, 4- or 8-bit weights in the layout of CPU products.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::halves::scale_and_zero;
use crate::{
    backend::Runtime,
    ensure,
    fault::fail,
    spec::bits::{BitMatrix, Blocks, Line, MAX_BYTE_BLOCK, PANEL, Panels, ZeroPoints},
    spec::indices::Axis,
};

/// A packed matrix as stored in a file.
#[derive(Clone, Debug)]
pub struct BitData {
    /// Blocks of each output, lowest bits first.
    pub codes: TensorData,
    pub scales: TensorData,
    /// Zero points: packed with the same number of bits as the codes, each output starting at a byte, or
    /// floats. The middle of the range by default.
    pub zeros: Option<TensorData>,
    /// Group of each input, which determines its scale and zero point, if groups are not the blocks.
    pub groups: Option<TensorData>,
}

impl BitMatrix {
    /// Returns `true` if the device has a kernel for products with such a matrix.
    pub fn is_for(device: &Device) -> bool {
        Runtime::of(device) == Runtime::Flex
    }

    /// Fails unless the data fit the blocks.
    #[inline(never)]
    pub fn new(blocks: Blocks, data: BitData) -> Self {
        let Blocks { inputs, outputs, bits, size } = blocks;
        ensure!(
            [2, 4, 8].contains(&bits) && size > 0 && (size * bits).is_multiple_of(u32::BITS as usize),
            "expected blocks of 2-, 4- or 8-bit weights that fill 32-bit words, found {size} weights of \
             {bits} bits"
        );
        let groups = inputs.div_ceil(size);
        let codes = bytes(&data.codes);
        let scales = floats(&data.scales);
        let row = groups.checked_mul(size * bits / 8);
        let all = row.and_then(|row| row.checked_mul(outputs));
        ensure!(
            all == Some(codes.len()) && scales.len() == outputs * groups,
            "{} bytes and {} scales do not match {inputs} inputs and {outputs} outputs",
            codes.len(),
            scales.len()
        );
        let (of_block, order) = match data.groups {
            None => ((0..groups).collect(), None),
            Some(of_input) => {
                let (of_block, order) = sorted(&of_input, blocks);
                (of_block, Some(order))
            }
        };
        let lines = PanelSource { outputs, groups, of_block: &of_block };
        let zeros = match data.zeros {
            None => ZeroPoints::Middle,
            Some(zeros) if zeros.dtype().is_float() => {
                let zeros = floats(&zeros);
                ensure!(
                    zeros.len() == scales.len(),
                    "expected {outputs} x {groups} zero points, found {}",
                    zeros.len()
                );
                ZeroPoints::Floats(lines.lines(|at| zeros[at]))
            }
            Some(zeros) => {
                let zeros = bytes(&zeros);
                let row = (groups * bits).div_ceil(8);
                ensure!(
                    zeros.len() == outputs * row,
                    "expected {outputs} x {row} bytes of zero points, found {}",
                    zeros.len()
                );
                let zero = |at: usize| code(&zeros[at / groups * row..], at % groups, bits);
                ZeroPoints::Whole(lines.each(zero))
            }
        };
        let words = lines.words(codes, blocks, order.as_deref());
        let scales = lines.lines(|at| scales[at]);
        let panels = Panels { blocks, count: of_block.len(), order, codes: words, scales, zeros };
        Self { panels: Arc::new(panels), in_bytes: false }
    }

    /// Selects products whose operands are rounded to 8 bits, block by block.
    pub fn in_bytes(self) -> Self {
        let Self { panels, .. } = &self;
        ensure!(
            panels.blocks.size <= MAX_BYTE_BLOCK && panels.order.is_none(),
            "cannot round the operands of {:?} to 8 bits",
            panels.blocks
        );
        Self { in_bytes: true, ..self }
    }

    /// Returns the matrix in f32, `[inputs, outputs]`.
    #[inline(never)]
    pub fn floats(&self, device: &Device) -> Tensor<2> {
        let of = &*self.panels;
        let Blocks { inputs, outputs, bits, size } = of.blocks;
        let mut values = vec![0f32; inputs * outputs];
        let words = size * bits / u32::BITS as usize;
        for element in 0..of.count * size {
            let Some(input) = of.input(element) else {
                continue;
            };
            let (block, first) = (element / size, element % size * bits);
            for output in 0..outputs {
                let (panel, lane) = (output / PANEL, output % PANEL);
                let at = panel * of.count + block;
                let word = of.codes[at * words + first / u32::BITS as usize].0[lane];
                let code = (word >> (first % u32::BITS as usize)) & ((1 << bits) - 1);
                let scale = |zero| (of.scales[at].0[lane], zero);
                let (scale, zero) = match &of.zeros {
                    ZeroPoints::Middle => scale((1u32 << (bits - 1)) as f32),
                    ZeroPoints::Whole(zeros) => scale(f32::from(zeros[at][lane])),
                    ZeroPoints::Floats(zeros) => scale(zeros[at].0[lane]),
                    ZeroPoints::Halves(words) => scale_and_zero(words[at].0[lane]),
                };
                values[input * outputs + output] = (code as f32 - zero) * scale;
            }
        }
        let data = TensorData::new(values, [inputs, outputs]);
        Tensor::from_data(data, (device, DType::F32))
    }
}

/// Orders inputs by their groups. Returns the group of each block, and the input at each index of the new order.
fn sorted(of_input: &TensorData, blocks: Blocks) -> (Vec<usize>, Vec<Option<u32>>) {
    let axis = Axis { number: 1, size: blocks.inputs.div_ceil(blocks.size) };
    ensure!(
        of_input.num_elements() >= blocks.inputs,
        "expected groups for {1} inputs, found {0}",
        of_input.num_elements(),
        blocks.inputs
    );
    let mut members = vec![Vec::new(); axis.size];
    for (input, group) in (0u32..).zip(of_input.iter::<i64>().take(blocks.inputs)) {
        match usize::try_from(group).ok().and_then(|group| members.get_mut(group)) {
            Some(members) => members.push(input),
            None => fail(format_args!("index {group} is out of bounds for {axis}")),
        }
    }
    let (mut of_block, mut order) = (Vec::new(), Vec::new());
    for (group, inputs) in members.iter().enumerate() {
        for inputs in inputs.chunks(blocks.size) {
            of_block.push(group);
            let end = order.len() + blocks.size;
            order.extend(inputs.iter().copied().map(Some));
            order.resize(end, None);
        }
    }
    (of_block, order)
}

fn bytes(data: &TensorData) -> &[u8] {
    ensure!(data.dtype() == DType::U8, "expected packed weights of type U8, found {:?}", data.dtype());
    data.as_bytes()
}

fn floats(data: &TensorData) -> Cow<'_, [f32]> {
    match data.as_slice() {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(data.iter().collect()),
    }
}

/// Returns code `at` of packed bytes.
fn code(bytes: &[u8], at: usize, bits: usize) -> u8 {
    (bytes[at * bits / 8] >> (at * bits % 8)) & (u8::MAX >> (8 - bits))
}

/// Layout of the source that panels are built from.
struct PanelSource<'a> {
    outputs: usize,
    groups: usize,
    of_block: &'a [usize],
}

impl PanelSource<'_> {
    /// Returns for each panel and block the value of `of` at each output's index among those of all outputs and groups.
    fn each<T: Copy + Default>(&self, of: impl Fn(usize) -> T) -> Vec<[T; PANEL]> {
        let mut lines = Vec::with_capacity(self.outputs.div_ceil(PANEL) * self.of_block.len());
        for first in (0..self.outputs).step_by(PANEL) {
            lines.extend(self.of_block.iter().map(|group| {
                core::array::from_fn(|lane| match first + lane {
                    output if output < self.outputs => of(output * self.groups + group),
                    _ => T::default(),
                })
            }));
        }
        lines
    }

    /// [`each`](Self::each), aligned to cache lines.
    fn lines<T: Copy + Default>(&self, of: impl Fn(usize) -> T) -> Vec<Line<T>> {
        self.each(of).into_iter().map(Line).collect()
    }

    fn words(&self, codes: &[u8], blocks: Blocks, order: Option<&[Option<u32>]>) -> Vec<Line<u32>> {
        let row = self.groups * blocks.size * blocks.bits / 8;
        let words = self.of_block.len() * blocks.size * blocks.bits / u32::BITS as usize;
        let panels = self.outputs.div_ceil(PANEL);
        let mut lines = vec![Line([0; PANEL]); panels * words];
        for (output, codes) in codes.chunks_exact(row.max(1)).enumerate() {
            let lines = &mut lines[output / PANEL * words..][..words];
            let lane = output % PANEL;
            match order {
                None => {
                    for (line, word) in lines.iter_mut().zip(codes.as_chunks().0) {
                        line.0[lane] = u32::from_le_bytes(*word);
                    }
                }
                Some(order) => {
                    let per_word = u32::BITS as usize / blocks.bits;
                    for (line, inputs) in lines.iter_mut().zip(order.chunks_exact(per_word)) {
                        let codes = inputs.iter().map(|input| match input {
                            Some(input) => code(codes, *input as usize, blocks.bits),
                            None => 0,
                        });
                        line.0[lane] = (codes.enumerate())
                            .fold(0, |word, (at, code)| word | u32::from(code) << (at * blocks.bits));
                    }
                }
            }
        }
        lines
    }
}
