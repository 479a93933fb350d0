//! Size of the result of resizing.

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::{Known, Placement, TensorType};

/// How the aspect ratio is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Stretch,
    NotLarger,
    NotSmaller,
}

attributes!(
    enum Policy {
        Stretch,
        NotLarger,
        NotSmaller,
    }
);

impl Policy {
    /// Returns the size of axis `axes[index]`, as the kernels compute it, if the aspect ratio is kept.
    pub fn kept(self, x: &TensorType, axes: &[usize], sizes: &[Dim], index: usize) -> Option<Dim> {
        let input = |axis: &usize| x.shape.get(*axis)?.fixed().map(|size| size as f32);
        let scales = axes.iter().zip(sizes);
        let scales = scales.map(|(axis, size)| Some(size.fixed()? as f32 / input(axis)?));
        let scales: Vec<f32> = scales.collect::<Option<_>>()?;
        let scale = match self {
            Policy::NotLarger => scales.into_iter().fold(f32::INFINITY, f32::min),
            _ => scales.into_iter().fold(0.0, f32::max),
        };
        Some(Dim::from((scale * input(axes.get(index)?)? + 0.5) as i64))
    }
}

/// Size of the result along each axis, as far as it is known.
#[derive(Clone, Debug)]
pub enum Target {
    Scales(Vec<f32>),
    Sizes(Vec<Dim>),
    /// Index of the input of scales or sizes that are known only at run time.
    HostScales(usize),
    HostSizes(usize),
}

/// Denominator of scales whose sizes are exact: multiples of 1/256.
const FINEST: f32 = 256.0;

/// Checks that the input of scales contains floats and the input of sizes integers, and returns both.
pub fn checked(cx: &Infer<'_>, inputs: [Option<usize>; 2]) -> Result<[Option<usize>; 2], Problem> {
    let [scales, sizes] = inputs;
    let checks =
        [(scales, "scales", ElementClass::Float, "floats"), (sizes, "sizes", ElementClass::Int, "integers")];
    for (input, name, kind, expected) in checks {
        let dtype = input.map(|input| cx.tensor(input)).transpose()?.map(|x| x.dtype);
        if let Some(dtype) = dtype.filter(|dtype| dtype.kind() != kind) {
            return Err(Problem::new(format!("`{name}` has type {dtype}, expected {expected}")));
        }
    }
    Ok(inputs)
}

impl Target {
    /// Creates a target from scales of attributes, or from the inputs of scales or sizes.
    pub fn new(
        fixed: Option<&Vec<f32>>,
        scales: Option<usize>,
        sizes: Option<usize>,
        known: impl Fn(usize) -> Option<Known>,
    ) -> Result<Self, Problem> {
        let checked = |scales: Vec<f32>| {
            if scales.iter().all(|&scale| scale > 0.0) {
                Ok(Target::Scales(scales))
            } else {
                let found = format!("{scales:?}");
                Err(Problem::expected("`scales`", found, "positive numbers"))
            }
        };
        match (fixed, scales, sizes) {
            (Some(scales), ..) => checked(scales.clone()),
            (None, _, Some(input)) => Ok(match known(input) {
                Some(Known::Ints(dims)) => Target::Sizes(dims),
                _ => Target::HostSizes(input),
            }),
            (None, Some(input), None) => match known(input) {
                Some(Known::Floats(scales)) => {
                    checked(scales.into_iter().map(|scale| scale as f32).collect())
                }
                _ => Ok(Target::HostScales(input)),
            },
            (None, None, None) => Err(Problem::new("expected `scales` or `sizes`, found neither")),
        }
    }

    /// Removes the axes whose size does not change.
    pub fn keep_changed(&mut self, axes: &mut Vec<usize>, x: &TensorType, y: &TensorType) {
        let stays: Vec<bool> = axes
            .iter()
            .enumerate()
            .map(|(index, &axis)| match &*self {
                Target::Scales(scales) => scales.get(index) == Some(&1.0),
                Target::Sizes(_) => x.shape.get(axis) == y.shape.get(axis),
                Target::HostScales(_) | Target::HostSizes(_) => false,
            })
            .collect();
        fn retain<T>(list: &mut Vec<T>, stays: &[bool]) {
            let mut stays = stays.iter();
            list.retain(|_| stays.next() != Some(&true));
        }
        retain(axes, &stays);
        match self {
            Target::Scales(scales) => retain(scales, &stays),
            Target::Sizes(sizes) => retain(sizes, &stays),
            Target::HostScales(_) | Target::HostSizes(_) => {}
        }
    }

    /// Returns `true` if sizes or scales are known only at run time.
    pub fn is_open(&self) -> bool {
        match self {
            Target::Scales(_) => false,
            Target::Sizes(dims) => dims.iter().any(|size| size.number().is_none()),
            Target::HostScales(_) | Target::HostSizes(_) => true,
        }
    }

    /// Returns `true` if the result is smaller along an axis.
    pub fn shrinks(&self) -> bool {
        match self {
            Target::Scales(scales) => scales.iter().any(|&scale| scale < 1.0),
            _ => false,
        }
    }

    /// Separates the axes that shrink from those that grow.
    pub fn by_direction(self, axes: &[usize]) -> Vec<(Vec<usize>, Target)> {
        let Target::Scales(scales) = &self else {
            return vec![(axes.to_vec(), self)];
        };
        let pairs = || axes.iter().copied().zip(scales.iter().copied());
        let (down, up): (Vec<_>, Vec<_>) = pairs().partition(|&(_, scale)| scale < 1.0);
        let groups = [down, up].into_iter().filter(|group| !group.is_empty());
        let targets = groups.map(|group| {
            let (axes, scales) = group.into_iter().unzip();
            (axes, Target::Scales(scales))
        });
        targets.collect()
    }

    /// Returns the argument of the kernel.
    pub fn emit(&self, cx: &mut Emit<'_, '_>, policy: Policy) -> Result<Code, Problem> {
        let sizes = match policy {
            Policy::Stretch => code!(ops::resize::Target::Sizes),
            Policy::NotLarger => code!(ops::resize::Target::NotLarger),
            Policy::NotSmaller => code!(ops::resize::Target::NotSmaller),
        };
        Ok(match self {
            Target::Scales(scales) => {
                let scales = scales.iter();
                let scales = scales.map(|&scale| float_literal(f64::from(scale), DType::F32));
                code!(ops::resize::Target::Scales(&[#(#scales),*]))
            }
            Target::Sizes(dims) => {
                let dims: Vec<Code> = dims.iter().map(|dim| cx.size(dim)).collect();
                code!(#sizes(&[#(#dims),*]))
            }
            Target::HostScales(input) => {
                let scales = cx.input_at(*input, Placement::Host)?;
                code!(ops::resize::Target::Scales(#scales.data()))
            }
            Target::HostSizes(input) => {
                let sizes_input = cx.host_ints(*input)?;
                code!(#sizes(&host::shape(#sizes_input)))
            }
        })
    }
}

/// Returns `floor(size * scale)` as the kernels compute it, if it is known exactly.
pub fn scaled(size: &Dim, scale: f32) -> Option<Dim> {
    if let Some(size) = size.fixed() {
        return Some(Dim::from((scale * size as f32) as i64));
    }
    let parts = scale * FINEST;
    if parts.fract() != 0.0 || parts > 1e6 {
        return None;
    }
    let (mut above, mut below) = (parts as i64, FINEST as i64);
    while above % 2 == 0 && below > 1 {
        (above, below) = (above / 2, below / 2);
    }
    size.mul(&Dim::from(above))?.div(&Dim::from(below))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::testing::problems;

    #[test]
    fn scaled_sizes_are_rounded_down() {
        let scaled = |size: Dim, scale| scaled(&size, scale).map(|size| size.to_string());
        let n = || Dim::named("n");
        assert_eq!(scaled(5.into(), 0.5).as_deref(), Some("2"));
        assert_eq!(scaled(n(), 2.0).as_deref(), Some("2*n"));
        assert_eq!(scaled(n(), 0.5).as_deref(), Some("floor((n) / (2))"));
        assert_eq!(scaled(n(), 1.5).as_deref(), Some("floor((n) / (2)) + n"));
        assert_eq!(scaled(n(), 1.0 / 3.0), None);
        assert_eq!(scaled(n(), 1e5), None);
    }

    #[test]
    fn scales_are_positive() {
        let none = |_: usize| None;
        let scales = |scales: Vec<f32>| Target::new(Some(&scales), None, None, none).is_ok();
        assert!(scales(vec![0.5, 2.0]));
        assert!(!scales(vec![0.0, 2.0]));
        assert!(!scales(vec![f32::NAN]));
        assert!(Target::new(None, None, None, none).is_err());
    }

    #[test]
    fn axes_that_shrink_come_before_those_that_grow() {
        let target = Target::Scales(vec![2.0, 0.5, 1.0]);
        assert!(target.shrinks());
        let parts = target.by_direction(&[1, 2, 3]).into_iter();
        let parts: Vec<_> =
            parts.map(|(axes, target)| (axes, matches!(target, Target::Scales(s) if s.len() == 1))).collect();
        assert_eq!(parts, [(vec![2], true), (vec![1, 3], false)]);
    }

    #[test]
    fn axes_of_scale_1_are_left_alone() {
        let tensor = |size: i64| TensorType::new(DType::F32, vec![3.into(), size.into()]);
        let (mut target, mut axes) = (Target::Scales(vec![1.0, 2.0]), vec![0, 1]);
        target.keep_changed(&mut axes, &tensor(4), &tensor(8));
        assert_eq!(axes, [1]);
        assert!(matches!(target, Target::Scales(scales) if scales == [2.0]));
    }

    #[test]
    fn scales_are_floats_and_sizes_integers() {
        problems(
            &[
                "(float[1, 1, 4, 4] x, int64[4] s) => (y) { y = Resize (x, , s) }",
                "(float[1, 1, 4, 4] x, float[4] s) => (y) { y = Resize (x, , , s) }",
                "(float[1, 1, 4, 4] x, int64[4] s) => (y) { y = Resize (x, , , s) }",
            ],
            expect![[r#"
                `scales` has type int64, expected floats
                `sizes` has type float32, expected integers
                fine
            "#]],
        );
    }
}
