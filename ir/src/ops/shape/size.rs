//! Shape and Size: sizes of tensors as values.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[
    row("Shape", &[1, 13, 15, 19, 21, 23, 24, 25], shape),
    row("Size", &[1, 13, 19, 21, 23, 24, 25], |_| Ok(Rc::new(Size))),
];

/// Sizes of the axes from `start` to `end`, which is excluded.
#[derive(Debug)]
struct Shape {
    start: i64,
    end: Option<i64>,
}

attributes!(struct Shape { start, end });

/// Number of elements.
#[derive(Debug)]
struct Size;

attributes!(struct Size);

fn shape(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let (mut start, mut end) = (0, None);
    if a.version() >= 15 {
        start = a.int_or("start", 0)?;
        end = a.int("end")?;
    }
    Ok(Rc::new(Shape { start, end }))
}

impl Operator for Shape {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let sizes = self.sizes(&x.shape);
        let count = i64::try_from(sizes.len()).unwrap_or(i64::MAX);
        cx.output(0, DType::I64, vec![Dim::from(count)]);
        cx.output_known(0, Known::Ints(sizes.to_vec()));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let shape = cx.tensor_type(0)?.shape.clone();
        let sizes = cx.shape_of(self.sizes(&shape));
        Ok(code!(Array::<i64>::vector(#sizes)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn makes_host(&self) -> bool {
        true
    }
}

impl Shape {
    fn sizes<'a>(&self, shape: &'a [Dim]) -> &'a [Dim] {
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        let normalized = |at: i64| {
            let at = if at < 0 { at.saturating_add(rank) } else { at };
            usize::try_from(at.clamp(0, rank)).unwrap_or(0)
        };
        let (start, end) = (normalized(self.start), normalized(self.end.unwrap_or(rank)));
        shape.get(start..end).unwrap_or_default()
    }
}

impl Operator for Size {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        cx.output(0, DType::I64, vec![]);
        if let Some(elements) = x.elements() {
            cx.output_known(0, Known::Ints(vec![elements]));
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let shape = cx.tensor_type(0)?.shape.clone();
        let sizes: Vec<Code> = shape.iter().map(|dim| cx.size(dim)).collect();
        Ok(code!(Array::scalar([#(#sizes),*].iter().product::<usize>() as i64)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn makes_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_shape_is_known_with_its_names() {
        check(
            "g (float[n, 3, m] x) => (int64[s] y, int64[t] z, int64 c) {
                y = Shape(x)
                z = Shape<start: int = -2, end: int = -1>(x)
                c = Size(x)
            }",
            expect![[r#"
                g (float32[n, 3, m] x) => (int64[3] y, int64[1] z, int64[] c)
                <
                    int64[3] y = {n, 3, m},
                    int64[1] z = {3},
                    int64[] c = {3*m*n}
                >
                {
                }
            "#]],
        );
    }
}
