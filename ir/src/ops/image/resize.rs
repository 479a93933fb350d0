//! Resize and Upsample: interpolation of images.

mod target;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::image::resize::target::{Policy, Target, scaled};
use crate::ops::{Operator, Row, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, Placement};

pub const ROWS: &[Row] = &[
    row("Resize", &[10, 11, 13, 18, 19], |a| match a.version() {
        10 => old(a, None),
        _ => resize(a),
    })
    .newer(&[("antialias", 18), ("axes", 18), ("keep_aspect_ratio_policy", 18)])
    .follows()
    .arity("rooo", "r")
    .before(&[(11, "rr", "r"), (13, "rrro", "r")]),
    row("Upsample", &[1, 7, 9], upsample)
        .removed(10, "Resize")
        .follows()
        .arity("rr", "r")
        .before(&[(9, "r", "r")]),
];

#[derive(Debug)]
struct Resize {
    mode: Mode,
    /// A variant of the kernels' `Coordinates`.
    coordinates: &'static str,
    exclude_outside: bool,
    antialias: bool,
    extrapolation: f32,
    axes: Option<Vec<i64>>,
    policy: Policy,
    /// Scales from attributes, in the oldest versions.
    scales: Option<Vec<f32>>,
    /// Indices of the inputs of region, scales and sizes.
    inputs: [Option<usize>; 3],
}

attributes!(struct Resize {
    mode, coordinates, exclude_outside, antialias, extrapolation, axes, policy, scales, inputs
});

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// A variant of the kernels' `Rounding`. `None` rounds down, or up if the result is smaller.
    Nearest(Option<&'static str>),
    Linear,
    Cubic(f32),
}

attributes!(
    enum Mode {
        Nearest(inner),
        Linear,
        Cubic(inner),
    }
);

fn resize(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let coordinates = a.choice(
        "coordinate_transformation_mode",
        "half_pixel",
        &[
            ("half_pixel", "HalfPixel"),
            ("half_pixel_symmetric", "HalfPixelSymmetric"),
            ("pytorch_half_pixel", "PytorchHalfPixel"),
            ("align_corners", "AlignCorners"),
            ("asymmetric", "Asymmetric"),
            ("tf_crop_and_resize", "TfCropAndResize"),
            ("tf_half_pixel_for_nn", "TfHalfPixelForNn"),
        ],
    )?;
    let rounding = a.choice(
        "nearest_mode",
        "round_prefer_floor",
        &[
            ("round_prefer_floor", "HalfDown"),
            ("round_prefer_ceil", "HalfUp"),
            ("floor", "Floor"),
            ("ceil", "Ceil"),
        ],
    )?;
    let cubic = a.float_or("cubic_coeff_a", -0.75)?;
    let modes =
        [("nearest", Mode::Nearest(Some(rounding))), ("linear", Mode::Linear), ("cubic", Mode::Cubic(cubic))];
    let mode = a.choice("mode", "nearest", &modes)?;
    let policies = [
        ("stretch", Policy::Stretch),
        ("not_larger", Policy::NotLarger),
        ("not_smaller", Policy::NotSmaller),
    ];
    let policy = a.choice("keep_aspect_ratio_policy", "stretch", &policies)?;
    Ok(Rc::new(Resize {
        mode,
        coordinates,
        exclude_outside: a.flag("exclude_outside", false)?,
        antialias: a.flag("antialias", false)?,
        extrapolation: a.float_or("extrapolation_value", 0.0)?,
        axes: a.ints("axes")?,
        policy,
        scales: None,
        inputs: [Some(1), Some(2), Some(3)],
    }))
}

fn upsample(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let scales = match a.version() {
        1 => {
            let height = a.required("height_scale", Attributes::float)?;
            let width = a.required("width_scale", Attributes::float)?;
            Some(vec![1.0, 1.0, height, width])
        }
        7 => Some(a.required("scales", Attributes::floats)?),
        _ => None,
    };
    old(a, scales)
}

/// Reads the first versions, which divide the coordinates of the result by the scale.
fn old(a: &Attributes<'_>, scales: Option<Vec<f32>>) -> Result<Rc<dyn Operator>, Problem> {
    let modes = [("nearest", Mode::Nearest(None)), ("linear", Mode::Linear), ("bilinear", Mode::Linear)];
    let mode = a.choice("mode", "nearest", &modes)?;
    Ok(Rc::new(Resize {
        mode,
        coordinates: "Asymmetric",
        exclude_outside: false,
        antialias: false,
        extrapolation: 0.0,
        axes: None,
        policy: Policy::Stretch,
        inputs: [None, scales.is_none().then_some(1), None],
        scales,
    }))
}

impl Operator for Resize {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !matches!(x.dtype.kind(), ElementClass::Float | ElementClass::Int | ElementClass::Bool) {
            return Err(Problem::new(format!(
                "the input has type {}, expected numbers or booleans",
                x.dtype
            )));
        }
        let axes = self.resized(x.rank())?;
        let present = |at: usize| match self.inputs.get(at).copied().flatten() {
            Some(input) if cx.has(input) => Ok((cx.tensor(input)?.count() != Some(0)).then_some(input)),
            _ => Ok::<_, Problem>(None),
        };
        let [scales, sizes] = target::checked(cx, [present(1)?, present(2)?])?;
        let target = Target::new(self.scales.as_ref(), scales, sizes, |input| cx.known(input).cloned())?;
        let (name, count) = match &target {
            Target::Scales(scales) => ("`scales`", Some(scales.len())),
            Target::Sizes(sizes) => ("`sizes`", Some(sizes.len())),
            Target::HostScales(input) => ("`scales`", cx.tensor(*input)?.count()),
            Target::HostSizes(input) => ("`sizes`", cx.tensor(*input)?.count()),
        };
        if let Some(count) = count {
            sizes::length(name, count, axes.len())?;
        }
        if let Some(input) = self.inputs[0].filter(|&input| self.crops() && cx.has(input))
            && let Some(count @ 1..) = cx.tensor(input)?.count()
        {
            sizes::length("`roi`", count, axes.len().saturating_mul(2))?;
        }
        let mut shape = x.shape.clone();
        for (index, &axis) in axes.iter().enumerate() {
            let size = shape.get(axis).cloned().unwrap_or_default();
            let size = match &target {
                Target::Scales(scales) => scales.get(index).and_then(|&scale| scaled(&size, scale)),
                Target::Sizes(sizes) if self.policy == Policy::Stretch => sizes.get(index).cloned(),
                Target::Sizes(sizes) => self.policy.kept(&x, &axes, sizes, index),
                Target::HostScales(_) | Target::HostSizes(_) => None,
            };
            let size = cx.dim_or_fresh(size, "resize");
            if let Some(slot) = shape.get_mut(axis) {
                *slot = size;
            }
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, y) = (cx.tensor_type(0)?.clone(), cx.output_tensor(0)?.clone());
        let mut result = cx.tensor(0)?;
        let mut axes = self.resized(x.rank())?;
        let present = |at: usize| {
            let input = self.inputs.get(at).copied().flatten()?;
            let tensor = cx.tensor_type(input).ok()?;
            (tensor.count() != Some(0)).then_some(input)
        };
        let (scales, sizes) = (present(1), present(2));
        let mut target = Target::new(self.scales.as_ref(), scales, sizes, |input| cx.known(input).cloned())?;
        let crops = self.crops();
        if !crops && self.policy == Policy::Stretch {
            target.keep_changed(&mut axes, &x, &y);
        }
        if axes.is_empty() {
            return Ok(result);
        }
        if target.is_open() {
            cx.may_fail();
        }
        let roi = self.roi(cx, crops)?;
        let truth = x.dtype.kind() == ElementClass::Bool;
        if truth {
            result = code!(ops::cast::bool_to_int(#result, DType::U8));
        }
        let function = match x.dtype.kind() {
            ElementClass::Int | ElementClass::Bool => format_ident!("resize_int"),
            _ => format_ident!("resize"),
        };
        let groups = match self.mode {
            Mode::Nearest(None) => target.by_direction(&axes),
            _ => vec![(axes, target)],
        };
        for (axes, target) in groups {
            let options = self.options(&target);
            let target = target.emit(cx, self.policy)?;
            let axes = axes.iter().map(|&axis| Literal::usize_unsuffixed(axis));
            result = code! {
                ops::resize::#function(#result, &[#(#axes),*], #target, #roi, &#options)
            };
        }
        Ok(if truth { code!(ops::cast::to_bool(#result)) } else { result })
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        // Coordinates of an axis whose size stays are those of the input, except for modes that crop or round.
        let keeps = ["HalfPixel", "PytorchHalfPixel", "AlignCorners", "Asymmetric"];
        let is_plain = keeps.contains(&self.coordinates) && self.policy == Policy::Stretch;
        let are_fixed = (1..rows.inputs()).all(|input| rows.is_fixed(input));
        (is_plain && are_fixed && rows.axis(0) == Some(0)).then(|| vec![0])
    }
}

impl Resize {
    fn crops(&self) -> bool {
        self.coordinates == "TfCropAndResize"
    }

    fn resized(&self, rank: usize) -> Result<Vec<usize>, Problem> {
        match &self.axes {
            None => Ok((0..rank).collect()),
            Some(axes) => axes.iter().map(|&at| axis(at, rank)).collect(),
        }
    }

    fn roi(&self, cx: &mut Emit<'_, '_>, crops: bool) -> Result<Code, Problem> {
        let Some(input) = self.inputs[0].filter(|&input| crops && cx.has(input)) else {
            return Ok(code!(&[]));
        };
        if let Some(Known::Floats(values)) = cx.known(input) {
            let values = values.iter().map(|&value| float_literal(value, DType::F32));
            return Ok(code!(&[#(#values),*]));
        }
        let dtype = cx.tensor_type(input)?.dtype;
        let roi = cx.input_at(input, Placement::Host)?;
        Ok(match dtype {
            DType::F32 => code!(#roi.data()),
            _ => code!(host::cast::<_, f32>(&#roi).data()),
        })
    }

    fn options(&self, target: &Target) -> Code {
        let mode = match self.mode {
            Mode::Nearest(rounding) => {
                let old = if target.shrinks() { "Ceil" } else { "Floor" };
                let rounding = rounding.unwrap_or(old);
                let rounding = format_ident!("{rounding}");
                code!(ops::resize::Mode::Nearest(ops::resize::Rounding::#rounding))
            }
            Mode::Linear => code!(ops::resize::Mode::Linear),
            Mode::Cubic(a) => {
                let a = float_literal(f64::from(a), DType::F32);
                code!(ops::resize::Mode::Cubic { a: #a })
            }
        };
        let coordinates = format_ident!("{}", self.coordinates);
        let plain = code! {
            ops::resize::Resize::new(#mode, ops::resize::Coordinates::#coordinates)
        };
        let mut fields = Vec::new();
        // Without antialiasing, a linear filter that reaches outside includes the edge: excluding the outside changes
        // nothing.
        let excludes = self.antialias || self.mode != Mode::Linear;
        if self.exclude_outside && excludes && !matches!(self.mode, Mode::Nearest(_)) {
            fields.push(code!(exclude_outside: true));
        }
        if self.antialias && !matches!(self.mode, Mode::Nearest(_)) {
            fields.push(code!(antialias: true));
        }
        if self.extrapolation != 0.0 && self.coordinates == "TfCropAndResize" {
            let value = float_literal(f64::from(self.extrapolation), DType::F32);
            fields.push(code!(extrapolation: #value));
        }
        if fields.is_empty() { plain } else { code!(ops::resize::Resize { #(#fields,)* ..#plain }) }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn a_region_has_a_begin_and_an_end_for_each_axis() {
        let crop = r#"coordinate_transformation_mode = "tf_crop_and_resize", axes = [2, 3]"#;
        let inputs = "float[1, 1, 4, 4] x, int64[2] s, float";
        let node = format!("Resize <{crop}> (x, r, , s)");
        let graph = |roi: &str| format!("({inputs}[{roi}] r) => (y) {{ y = {node} }}");
        problems(
            &[&graph("8"), &graph("4"), &graph("n")],
            expect![[r#"
                `roi` has 8 elements, expected 4
                fine
                fine
            "#]],
        );
    }
}
