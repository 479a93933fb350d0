//! Convolutions of 3 x 3 taps by Winograd's minimal filtering.
//!
//! Output pixels are computed in squares. The input pixels of a square and the taps are transformed, after which an input and an
//! output channel take 36 products for 16 pixels, or 16 products for 4, instead of 144 and 36. Sums of products over the input
//! channels are transformed to output pixels. Squares are in the lanes, so that each of the products is a matrix product:
//! output channels by input channels by squares.
//!
//! Results differ from direct sums by rounding: up to about 5e-6 of the largest element. A number that is not finite would
//! reach all pixels of its square, so that direct sums compute a convolution whose results are not all finite.

mod transforms;

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::band::write_tiles;
use super::filters::Filters;
use super::lines::PaddedLines;
use super::run::Convolution;
use crate::flex::{
    elementary::activate,
    memory::{
        Buffer, Cuts, Grid, Lines, Order, SliceWriter, Unwritten, Written, on_chunks, overwrite, with_scratch,
    },
    plan::{CopiedRange, Square, TileColumns, WinogradPlan, rows_of_register},
    simd::{Floats, Isa, LaneMask, WIDEST, vectorized, with_isa},
    threads::task_for_each,
    tile::{Bias, Bounds, F32_PER_CACHE_LINE, FloatEpilogue, FloatOperands, RowOffsets, Tile},
};
use crate::spec::epilogue::Activation;
use transforms::{Four, Transforms, Two};

/// Transformed weights of all groups.
pub struct SquareFilters(Lines<f32>);

/// Tables that all parts of a convolution share.
struct Run<'a> {
    of: &'a Convolution<'a>,
    plan: &'a WinogradPlan,
    weights: &'a [f32],
    bounds: Option<Bounds>,
    /// False as soon as a result is not finite.
    is_finite: AtomicBool,
}

/// Sizes of the memory of a part.
#[derive(Clone, Copy)]
struct Part {
    /// Number of rows of squares.
    rows: usize,
    /// Number of squares of a row.
    wide: usize,
    /// Number of squares, filled up to whole registers.
    squares: usize,
    /// Number of input channels.
    inputs: usize,
    /// Sizes of the copy of a channel's input with padding.
    height: usize,
    width: usize,
}

/// Memory of a part for its output channels.
struct Memory<'a> {
    /// Transformed inputs: for each product, channel and square.
    inputs: &'a [f32],
    /// Sums: for each product, output channel of a panel and square.
    sums: &'a mut [f32],
    /// Output pixels of one channel: for each row of pixels of a square, all squares side by side.
    pixels: &'a mut [f32],
}

impl SquareFilters {
    /// Transforms packed weights. Panels of output channels stay as they are, and have one matrix for each product.
    pub fn new(filters: &Filters, square: Square) -> Self {
        let products = square.products();
        let inputs = filters.inner / 9;
        let group_len = filters.outputs * inputs * products;
        let panel_len = (filters.panel_rows * inputs * products).max(1);
        let mut values = Lines::of_weight(filters.groups * group_len + F32_PER_CACHE_LINE);
        for (group, out) in values.chunks_exact_mut(group_len.max(1)).take(filters.groups).enumerate() {
            on_chunks(out, panel_len, |panel, out| {
                let from = &*filters.panel(group, panel * filters.panel_rows);
                vectorized(
                    #[inline(always)]
                    || match square {
                        Square::Two => transform_panel::<2, 4, Two>(from, inputs, out),
                        Square::Four => transform_panel::<4, 6, Four>(from, inputs, out),
                    },
                );
            });
        }
        Self(values)
    }
}

/// Number of output channels whose weights are transformed at once.
const FILTERS: usize = 8;

/// Transforms the weights of a panel, which has a row of output channels for each tap of each input channel.
#[inline(always)]
fn transform_panel<const M: usize, const P: usize, K: Transforms<M, P>>(
    from: &[f32],
    inputs: usize,
    out: &mut [f32],
) {
    let rows = out.len() / (inputs * P * P);
    for input in 0..inputs {
        for first in (0..rows).step_by(FILTERS) {
            let count = FILTERS.min(rows - first);
            let mut taps = [[[0.0; FILTERS]; 3]; 3];
            for (row, taps) in taps.iter_mut().enumerate() {
                for (column, values) in taps.iter_mut().enumerate() {
                    let from = &from[(input * 9 + row * 3 + column) * rows + first..][..count];
                    for (value, from) in values.iter_mut().zip(from) {
                        *value = f64::from(*from);
                    }
                }
            }
            // Along rows, then along columns.
            let [above, middle, below] = [K::filter(taps[0]), K::filter(taps[1]), K::filter(taps[2])];
            for (column, ((above, middle), below)) in above.into_iter().zip(middle).zip(below).enumerate() {
                let along = K::filter([above, middle, below]);
                for (row, values) in along.iter().enumerate() {
                    let at = ((row * P + column) * inputs + input) * rows + first;
                    for (out, value) in out[at..at + count].iter_mut().zip(values) {
                        *out = *value as f32;
                    }
                }
            }
        }
    }
}

impl Convolution<'_> {
    /// Computes the convolution by a plan. Returns `None` if a result is not finite, or sizes are too large for tiles.
    pub fn by_squares(&self, plan: &WinogradPlan) -> Option<Buffer> {
        let filters = self.filters;
        let weights = filters.squares(plan.square);
        let run = Run {
            of: self,
            plan,
            weights: &weights.0,
            bounds: Bounds::of(self.activation),
            is_finite: AtomicBool::new(true),
        };
        let parts = plan.bands.iter().map(|band| run.sizes(band));
        let offsets: Option<Vec<_>> = parts.map(|part| RowOffsets::even(part.inputs, part.squares)).collect();
        let offsets = offsets?;
        let ends: Vec<usize> = plan.band_ends().collect();
        let grid = Grid { rows: plan.cuts(), columns: Cuts::Ends(&ends), order: Order::RowMajor };
        let positions: usize = self.geometry.positions.iter().product();
        let channels = self.batches * filters.groups * filters.outputs;
        let buffer = Buffer::filled(channels * positions, |out| {
            let out = out.reshaped(channels, positions);
            out.side_by_side(grid, task_for_each(plan.threads), |index, spot, out| {
                let band = index % plan.bands.len();
                run.part(spot.rows, band, &offsets[band], out)
            })
        });
        run.is_finite.into_inner().then_some(buffer)
    }
}

impl Run<'_> {
    fn sizes(&self, band: &Range<usize>) -> Part {
        let side = self.plan.square.side();
        let (rows, wide) = (band.len(), self.plan.wide);
        Part {
            rows,
            wide,
            squares: (rows * wide).next_multiple_of(self.of.filters.set.lanes()),
            inputs: self.of.filters.inner / 9,
            height: rows * side + 2,
            width: wide * side + 2,
        }
    }

    /// Writes output channels of one group over a band.
    fn part<'a>(
        &self,
        rows: Range<usize>,
        band: usize,
        offsets: &RowOffsets,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (of, filters, square) = (self.of, self.of.filters, self.plan.square);
        let band = &self.plan.bands[band];
        let part = self.sizes(band);
        let group = rows.start / filters.outputs;
        let (batch, group) = (group / filters.groups, group % filters.groups);
        let values = of.values.get(batch * of.steps[0] + group * part.inputs * of.steps[1]..).unwrap_or(&[]);
        let products = square.products();
        // Loads of registers read past the last pixel, and past the last row of squares.
        let after = 8 * filters.set.lanes() + square.side() * square.side() * part.width;
        let line = |length: usize| length.next_multiple_of(F32_PER_CACHE_LINE);
        let lengths = [
            line(part.height * part.width + after),
            line(products * part.inputs * part.squares),
            line(products * filters.panel_rows.min(out.rows()) * part.squares),
            line(square.side() * square.side() * part.squares),
        ];
        with_scratch(lengths.iter().sum(), |scratch| {
            let (copy, rest) = scratch.split_at_mut(lengths[0]);
            let (inputs, rest) = rest.split_at_mut(lengths[1]);
            let (sums, pixels) = rest.split_at_mut(lengths[2]);
            copy[part.height * part.width..].fill(0.0);
            for channel in 0..part.inputs {
                self.copy_input(&values[channel * of.steps[1]..], band, part, copy);
                let inputs = &mut inputs[channel * part.squares..];
                with_isa!(filters.set, isa => match square {
                    Square::Two => transform_inputs::<_, 2, 4, Two>(isa, part, copy, inputs),
                    Square::Four => transform_inputs::<_, 4, 6, Four>(isa, part, copy, inputs),
                });
            }
            let mut memory = Memory { inputs, sums, pixels };
            out.in_rows(filters.panel_rows, |at, out| {
                self.panel(rows.start + at, (band, part, offsets), &mut memory, out)
            })
        })
    }

    /// Copies the input of a channel for a band, with padding.
    fn copy_input(&self, values: &[f32], band: &Range<usize>, part: Part, copy: &mut [f32]) {
        let g = &self.of.geometry;
        let rows = CopiedRange::new(g, 1, band.start * self.plan.square.side(), part.height);
        let columns = CopiedRange::new(g, 2, 0, part.width);
        copy[..rows.begin * part.width].fill(0.0);
        copy[rows.end * part.width..part.height * part.width].fill(0.0);
        if rows.begin == rows.end {
            return;
        }
        let [.., row, column] = self.of.steps;
        PaddedLines {
            values: &values[rows.first * row..],
            step: row,
            count: rows.end - rows.begin,
            first: columns.first * column,
            stride: column,
            begin: columns.begin,
            end: columns.end,
            width: part.width,
        }
        .copy(self.of.filters.set, &mut copy[rows.begin * part.width..]);
    }

    /// Writes a panel of output channels over a band, from the channel `first` on, counted through groups and batches.
    fn panel<'a>(
        &self,
        first: usize,
        (band, part, offsets): (&Range<usize>, Part, &RowOffsets),
        memory: &mut Memory<'_>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (of, filters, square) = (self.of, self.of.filters, self.plan.square);
        let (products, count) = (square.products(), out.rows());
        let channel = first % (filters.groups * filters.outputs);
        let weights = &self.weights[channel * part.inputs * products..];
        let [_, high, wide] = of.geometry.positions;
        let sums = &mut memory.sums[..products * count * part.squares];
        overwrite(sums, |sums| {
            let sums = sums.reshaped(products * count, part.squares);
            sums.in_rows(count, |at, sums| {
                let product = at / count;
                let weights = &weights[product * part.inputs * count..];
                let inputs = &memory.inputs[product * part.inputs * part.squares..];
                self.product(weights, (inputs, offsets), sums)
            })
        });
        let pixel = band.start * square.side() * wide;
        let mut out = out.in_rows(1, |row, out| {
            let bias = of.bias.map_or(0.0, |bias| bias[channel + row]);
            let sums = &memory.sums[row * part.squares..];
            let stride = count * part.squares;
            let pixels = &mut *memory.pixels;
            let is_finite = with_isa!(filters.set, isa => match square {
                Square::Two => transform_sums::<_, 2, 4, Two>(isa, (part.squares, stride), sums, bias, pixels),
                Square::Four => transform_sums::<_, 4, 6, Four>(isa, (part.squares, stride), sums, bias, pixels),
            });
            if !is_finite {
                self.is_finite.store(false, Relaxed);
            }
            let residual = of.residual.map(|values| &values[(first + row) * high * wide + pixel..]);
            self.rows_of_pixels(part, pixels, residual, out)
        });
        if self.bounds.is_none() && of.activation != Activation::Identity {
            for row in 0..count {
                activate(out.row(row), of.activation);
            }
        }
        out
    }

    /// Computes one of the products: sums over input channels for the output channels of a panel and all squares of a band.
    fn product<'a>(
        &self,
        left: &[f32],
        (inputs, offsets): (&[f32], &RowOffsets),
        sums: Unwritten<'a>,
    ) -> Written<'a> {
        let set = self.of.filters.set;
        let rows = sums.rows();
        let columns = TileColumns::whole(sums.columns(), set.lanes(), set.nr());
        write_tiles(&columns, 1, sums, |columns, _, sums| {
            let operands = FloatOperands { left, right: &inputs[columns.first..], offsets, next: &[] };
            let epilogue = FloatEpilogue { bias: Bias::Zero, addend: None, bounds: None };
            let tile = Tile { rows, registers: columns.registers, columns: columns.mask, operands, epilogue };
            tile.run(set, sums)
        })
    }

    /// Writes the output pixels of a channel, with the residual input and the clamp.
    fn rows_of_pixels<'a>(
        &self,
        part: Part,
        pixels: &[f32],
        residual: Option<&[f32]>,
        out: Unwritten<'a>,
    ) -> Written<'a> {
        let (side, wide) = (self.plan.square.side(), self.of.geometry.positions[2]);
        out.write(|out| {
            with_isa!(self.of.filters.set, isa => {
                let mut writer = SliceWriter::new(out);
                let mut row = 0;
                while writer.missing() > 0 {
                    let first = row % side * side * part.squares + row / side * side * part.wide;
                    let residual = residual.map(|values| &values[writer.len()..][..wide]);
                    finish(isa, &pixels[first..][..wide], residual, self.bounds, &mut writer);
                    row += 1;
                }
                writer.finish()
            })
        })
    }
}

/// Writes a row of pixels with a residual input and a clamp.
#[inline(always)]
fn finish<I: Isa>(
    isa: I,
    pixels: &[f32],
    residual: Option<&[f32]>,
    bounds: Option<Bounds>,
    out: &mut SliceWriter<'_, f32>,
) {
    for (at, pixels) in pixels.chunks(I::LANES).enumerate() {
        let mut value = isa.load_first(pixels, isa.splat(0.0));
        if let Some(residual) = residual {
            let residual = &residual[at * I::LANES..][..pixels.len()];
            value = value + isa.load_first(residual, isa.splat(0.0));
        }
        if let Some(Bounds { low, high }) = bounds {
            value = value.clamp(isa.splat(low), isa.splat(high));
        }
        out.write(
            pixels.len(),
            #[inline(always)]
            |out| value.write(out),
        );
    }
}

/// Transforms the input of a channel. `inputs` begins with its values for the first product.
#[inline(always)]
fn transform_inputs<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    part: Part,
    copy: &[f32],
    inputs: &mut [f32],
) {
    match rows_of_register(part.wide, I::LANES, M) {
        // With constant offsets of loads.
        1 => transform_rows::<I, M, P, K>(isa, part, 1, copy, inputs),
        rows => transform_rows::<I, M, P, K>(isa, part, rows, copy, inputs),
    }
}

/// Transforms some rows of squares at a time.
#[inline(always)]
fn transform_rows<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    part: Part,
    rows_of_register: usize,
    copy: &[f32],
    inputs: &mut [f32],
) {
    let zero = isa.splat(0.0);
    let stride = part.inputs * part.squares;
    // Squares of a register from one row, and those that exist.
    let slot = I::LANES / rows_of_register;
    let lanes = (0..I::LANES).filter(|lane| lane % slot < part.wide);
    let mask = LaneMask::new(lanes.fold(0, |mask, lane| mask | 1 << lane));
    let has_gaps = rows_of_register > 1 && slot > part.wide;
    let mut loads = [0; M];
    for (at, load) in loads.iter_mut().enumerate() {
        let square = at * I::LANES / M;
        *load = (square / slot * part.width + square % slot) * M;
    }
    let mut columns = [[zero; P]; P];
    for row in (0..part.rows).step_by(rows_of_register) {
        for column in (0..part.wide).step_by(I::LANES) {
            let from = &copy[row * M * part.width + column * M..];
            for (at, column) in columns.iter_mut().enumerate() {
                let mut x = [zero; P];
                for (row, x) in x.iter_mut().enumerate() {
                    *x = every::<I, M>(isa, &from[row * part.width + at..], loads);
                }
                *column = K::input(isa, x);
            }
            let first = row * part.wide + column;
            // The next row of squares overwrites what is beyond the end of this one.
            let count = I::LANES.min(part.squares - first);
            let is_last = row + rows_of_register >= part.rows && column + I::LANES >= part.wide;
            let rest = if is_last { part.squares - first - count } else { 0 };
            for row in 0..P {
                let mut x = [zero; P];
                for (x, column) in x.iter_mut().zip(&columns) {
                    *x = column[row];
                }
                for (column, value) in K::input(isa, x).into_iter().enumerate() {
                    let value = if has_gaps { value.compressed(mask) } else { value };
                    let out = &mut inputs[(row * P + column) * stride + first..];
                    if count == I::LANES {
                        value.store(out)
                    } else {
                        value.store_first(&mut out[..count])
                    }
                    if rest > 0 {
                        zero.store_first(&mut out[count..count + rest]);
                    }
                }
            }
        }
    }
}

/// Every `M`-th element of the registers that begin at some offsets.
#[inline(always)]
fn every<I: Isa, const M: usize>(isa: I, from: &[f32], loads: [usize; M]) -> I::Floats {
    match M {
        2 => pair(isa, from, loads[0], loads[1]),
        4 => pair(isa, from, loads[0], loads[1]).even_lanes(pair(isa, from, loads[2], loads[3])),
        _ => panic!("squares have sides of two or four pixels"),
    }
}

/// Every second element of two registers.
#[inline(always)]
fn pair<I: Isa>(isa: I, from: &[f32], first: usize, second: usize) -> I::Floats {
    isa.load(&from[first..]).even_lanes(isa.load(&from[second..]))
}

/// Transforms the sums of an output channel to pixels. `squares`: their number, and the distance of two products.
/// Returns false if a pixel is not finite.
#[inline(always)]
fn transform_sums<I: Isa, const M: usize, const P: usize, K: Transforms<M, P>>(
    isa: I,
    (squares, stride): (usize, usize),
    sums: &[f32],
    bias: f32,
    pixels: &mut [f32],
) -> bool {
    let zero = isa.splat(0.0);
    let bias = isa.splat(bias);
    // Zeros, unless a number is not finite: then NaN.
    let mut check = zero;
    let mut columns = [[zero; M]; P];
    for first in (0..squares).step_by(I::LANES) {
        for (at, column) in columns.iter_mut().enumerate() {
            let mut x = [zero; P];
            for (row, x) in x.iter_mut().enumerate() {
                *x = isa.load(&sums[(row * P + at) * stride + first..]);
            }
            *column = K::output(isa, x);
        }
        for row in 0..M {
            let mut x = [zero; P];
            for (x, column) in x.iter_mut().zip(&columns) {
                *x = column[row];
            }
            let mut y = K::output(isa, x);
            for y in &mut y {
                *y = *y + bias;
                check = y.mul_add(zero, check);
            }
            let out = &mut pixels[(row * squares + first) * M..][..M * I::LANES];
            for (y, out) in side_by_side::<I, M>(y).into_iter().zip(out.chunks_exact_mut(I::LANES)) {
                y.store(out);
            }
        }
    }
    let mut lanes = [0.0; WIDEST];
    check.store(&mut lanes);
    lanes.iter().all(|lane| *lane == 0.0)
}

/// The first lanes of all registers, then the second ones, and so on.
#[inline(always)]
fn side_by_side<I: Isa, const M: usize>(registers: [I::Floats; M]) -> [I::Floats; M] {
    let mut result = registers;
    match M {
        2 => result.copy_from_slice(&registers[0].interleaved(registers[1])),
        4 => {
            let even = registers[0].interleaved(registers[2]);
            let odd = registers[1].interleaved(registers[3]);
            result[..2].copy_from_slice(&even[0].interleaved(odd[0]));
            result[2..].copy_from_slice(&even[1].interleaved(odd[1]));
        }
        _ => panic!("squares have sides of two or four pixels"),
    }
    result
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use burn::tensor::{DType, Tensor, TensorData, module, ops::ConvOptions};

    use super::*;
    use crate::flex::{
        conv::geometry::Geometry,
        plan::{ConvSizes, Machine},
        simd::with_each_set,
        view::Matrix,
    };
    use crate::testing::noise;

    struct Case {
        channels: [usize; 2],
        groups: usize,
        batches: usize,
        size: [usize; 2],
        pads: [(usize, usize); 2],
        threads: fn() -> usize,
    }

    const PLAIN: Case =
        Case { channels: [3, 5], groups: 1, batches: 1, size: [9, 11], pads: [(1, 1); 2], threads: || 1 };

    impl Case {
        /// Computes the convolution with squares of both sizes. `check` gets the results and those of direct sums in double
        /// precision.
        fn run(
            &self,
            x: &[f32],
            weight: &[f32],
            activation: Activation,
            check: impl Fn(Option<&[f32]>, &[f64]),
        ) {
            let Self { channels: [inputs, outputs], groups, batches, size, pads, threads } = *self;
            let options = ConvOptions::new_with_padding([1; 2], pads, [1; 2], groups);
            let inputs = inputs / groups;
            let tensor = |values: &[f32], shape: [usize; 4]| {
                Tensor::<4>::from_data(TensorData::new(values.to_vec(), shape), &Default::default())
                    .cast(DType::F64)
            };
            let bias: Vec<f32> = noise::<1>([outputs], 3).into_data().try_to_vec().unwrap();
            let wide = module::conv2d(
                tensor(x, [batches, inputs * groups, size[0], size[1]]),
                tensor(weight, [outputs, inputs, 3, 3]),
                None,
                options.clone(),
            );
            let wide = wide + tensor(&bias, [1, outputs, 1, 1]);
            let residual: Vec<f32> = noise::<4>(wide.dims(), 4).into_data().try_to_vec().unwrap();
            let wide = wide.clone() + tensor(&residual, wide.dims());
            let mut expected: Vec<f64> = wide.into_data().try_to_vec().unwrap();
            if activation == Activation::Relu {
                expected.iter_mut().for_each(|value| *value = value.max(0.0));
            }
            let geometry = Geometry::new(&size, &[3, 3], &options);
            with_each_set(|set| {
                let filters = Filters::new(set, Matrix::dense(weight, inputs * 9), groups);
                let sizes = ConvSizes {
                    geometry,
                    batches,
                    groups,
                    inputs,
                    outputs: outputs / groups,
                    panel_rows: filters.panel_rows,
                };
                let plane = size[0] * size[1];
                let convolution = Convolution {
                    geometry,
                    batches,
                    filters: &filters,
                    values: x,
                    steps: [inputs * groups * plane, plane, plane, size[1], 1],
                    bias: Some(&bias),
                    residual: Some(&residual),
                    activation,
                };
                let machine = Machine { threads, ..Machine::of_floats(set) };
                for square in [Square::Two, Square::Four] {
                    let plan = WinogradPlan::with(square, sizes, &machine);
                    let y = convolution.by_squares(&plan);
                    check(y.as_deref(), &expected);
                }
            });
        }

        fn operands(&self) -> [Vec<f32>; 2] {
            let Self { channels: [inputs, outputs], groups, batches, size, .. } = *self;
            let x = noise::<4>([batches, inputs, size[0], size[1]], 1);
            let weight = noise::<4>([outputs, inputs / groups, 3, 3], 2);
            [x, weight].map(|tensor| tensor.into_data().try_to_vec().unwrap())
        }
    }

    fn error(found: Option<&[f32]>, expected: &[f64]) -> f64 {
        let found = found.expect("all results are finite");
        assert_eq!(found.len(), expected.len());
        let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let differences = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
        differences.fold(0.0, f64::max) / largest
    }

    #[test]
    fn squares_are_the_sums_of_all_taps() {
        let cases = [
            PLAIN,
            Case { channels: [4, 17], size: [8, 33], batches: 2, ..PLAIN },
            Case { channels: [1, 1], size: [1, 1], ..PLAIN },
            Case { channels: [2, 3], size: [3, 3], pads: [(0, 0); 2], ..PLAIN },
            Case { channels: [2, 29], size: [4, 70], pads: [(2, 0), (0, 3)], ..PLAIN },
            Case { channels: [8, 6], groups: 2, size: [21, 18], batches: 2, ..PLAIN },
            Case { channels: [3, 2], size: [4, 5], pads: [(9, 2), (0, 8)], ..PLAIN },
            Case { channels: [40, 30], size: [30, 31], threads: || 3, ..PLAIN },
            Case { channels: [300, 20], size: [7, 7], threads: || 2, ..PLAIN },
        ];
        for case in cases {
            let [x, weight] = case.operands();
            for activation in [Activation::Identity, Activation::Relu] {
                case.run(&x, &weight, activation, |found, expected| {
                    assert!(error(found, expected) < 1e-5);
                });
            }
        }
    }

    #[test]
    fn errors_of_many_channels_are_small() {
        let case = Case { channels: [256, 16], size: [14, 14], ..PLAIN };
        let [x, weight] = case.operands();
        case.run(&x, &weight, Activation::Identity, |found, expected| {
            assert!(error(found, expected) < 1e-5);
        });
    }

    #[test]
    fn numbers_that_are_not_finite_are_left_to_direct_sums() {
        let case = Case { channels: [3, 4], size: [9, 40], ..PLAIN };
        let [x, weight] = case.operands();
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            for at in [0, 17, 3 * 9 * 40 - 1] {
                let mut x = x.clone();
                x[at] = value;
                case.run(&x, &weight, Activation::Relu, |found, _| assert!(found.is_none()));
            }
            let mut weight = weight.clone();
            weight[5] = value;
            case.run(&x, &weight, Activation::Relu, |found, _| assert!(found.is_none()));
        }
    }

    #[test]
    fn plans_do_not_change_results() {
        let case = |threads| Case { channels: [70, 40], size: [40, 44], threads, ..PLAIN };
        let results = Cell::new(Vec::new());
        for threads in [|| 1, || 2, || 7] {
            let case = case(threads);
            let [x, weight] = case.operands();
            case.run(&x, &weight, Activation::Identity, |found, _| {
                let mut all = results.take();
                all.push(found.unwrap().to_vec());
                results.set(all);
            });
        }
        let results = results.take();
        let each = results.len() / 3;
        assert!(
            each >= 2 && results[..each] == results[each..2 * each] && results[..each] == results[2 * each..]
        );
    }
}
