//! Depthwise convolutions over the input in place.

use super::run::Convolution;
use crate::flex::{
    elementary::activate,
    memory::Buffer,
    plan::{threads, tuning::WINDOW_TAPS},
    simd::{Floats, Isa},
    tile::Bounds,
    window::{At, Fold, Planes, Windows, by_bands},
};
use crate::spec::epilogue::Activation;

/// Operands of one output channel.
struct Channel<'a> {
    weight: &'a [f32],
    bias: f32,
    /// Residual input, in the layout of the output.
    residual: Option<&'a [f32]>,
    bounds: Option<Bounds>,
}

impl Convolution<'_> {
    /// Computes a convolution of [`ConvMethod::Windows`](crate::flex::plan::ConvMethod::Windows). Returns
    /// `None` if its tables would be too large.
    pub fn by_windows(&self) -> Option<Buffer> {
        let (g, filters) = (self.geometry, self.filters);
        let taps = g.taps();
        assert!(filters.inner == taps && (g.sizes[2] == 1 || self.steps[4] == 1));
        let [batch, channel, depth, row] = [0, 1, 2, 3].map(|axis| self.steps[axis]);
        let windows = Windows::new(filters.set, g, [depth, row], 0.0)?;
        let bounds = Bounds::of(self.activation);
        let after = bounds.is_none() && self.activation != Activation::Identity;
        let positions: usize = g.positions.iter().product();
        let outputs = filters.groups * filters.outputs;
        let units = self.batches * outputs;
        let count = units * positions;
        assert!(self.residual.is_none_or(|values| values.len() >= count));
        let planes = Planes::new(units, g.positions);
        let threads = threads(count * taps);
        Some(Buffer::filled(count, |out| {
            by_bands(out, filters.set, planes, threads, |unit, rows, out| {
                let mut weight = [0.0; WINDOW_TAPS];
                let output = unit % outputs;
                let group = output / filters.outputs;
                filters.copy(group, output % filters.outputs, &mut weight[..taps]);
                let from = unit / outputs * batch + group * channel;
                let channel = Channel {
                    weight: &weight[..taps],
                    bias: self.bias.map_or(0.0, |bias| bias[output]),
                    residual: self.residual.map(|values| &values[unit * positions..][..positions]),
                    bounds,
                };
                let mut written = windows.run(&self.values[from..], rows, &channel, out);
                for depth in (0..g.positions[0]).filter(|_| after) {
                    activate(written.row(depth), self.activation);
                }
                written
            })
        }))
    }
}

impl Fold for Channel<'_> {
    #[inline(always)]
    fn weights(&self) -> &[f32] {
        self.weight
    }

    #[inline(always)]
    fn begin<I: Isa>(&self, isa: I) -> I::Floats {
        isa.splat(self.bias)
    }

    #[inline(always)]
    fn step<I: Isa>(&self, _: I, sum: I::Floats, values: I::Floats, weight: I::Floats) -> I::Floats {
        values.mul_add(weight, sum)
    }

    #[inline(always)]
    fn end<I: Isa>(&self, isa: I, sum: I::Floats, at: At) -> I::Floats {
        let mut y = sum;
        if let Some(residual) = self.residual {
            y = y + isa.load_first(&residual[at.offset..][..at.count], isa.splat(0.0));
        }
        if let Some(Bounds { low, high }) = self.bounds {
            y = y.clamp(isa.splat(low), isa.splat(high));
        }
        y
    }
}
