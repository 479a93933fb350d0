//! Einsum: sums of products, described by an equation of axes.

use std::collections::BTreeMap;
use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::graph::Node;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType};

pub const ROWS: &[Row] = &[row("Einsum", &[12, 28], einsum).arity("+", "r")];

/// Axes of each operand and of the result.
#[derive(Debug)]
pub struct Einsum {
    inputs: Vec<Labels>,
    output: Labels,
}

attributes!(struct Einsum { inputs, output });

/// One letter for each axis. A dot represents the ellipsis, which is any number of axes.
type Labels = Vec<char>;

const ELLIPSIS: char = '.';

/// Returns the letters of each operand's axes, if the node is an Einsum.
pub fn axes(node: &Node) -> Option<&[Vec<char>]> {
    Some(&node.operator_as::<Einsum>()?.inputs)
}

fn einsum(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let equation = a.required("equation", Attributes::string)?;
    match parse(&equation) {
        Some(einsum) => Ok(Rc::new(einsum)),
        None => {
            let found = format_args!("`{equation}`");
            Err(Problem::expected("`equation`", found, "an equation such as `ij,jk->ik`"))
        }
    }
}

fn parse(equation: &str) -> Option<Einsum> {
    let plain: String = equation.chars().filter(|character| !character.is_whitespace()).collect();
    let (inputs, output) = match plain.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (plain.as_str(), None),
    };
    let inputs: Vec<Labels> = inputs.split(',').map(labels).collect::<Option<_>>()?;
    let count = |label: char| inputs.iter().flatten().filter(|&&letter| letter == label).count();
    let output = match output {
        Some(output) => labels(output)?,
        None => {
            let open = count(ELLIPSIS) > 0;
            let letters = ('A'..='Z').chain('a'..='z').filter(|&label| count(label) == 1);
            open.then_some(ELLIPSIS).into_iter().chain(letters).collect()
        }
    };
    let once = |label: &char| output.iter().filter(|letter| *letter == label).count() == 1;
    let is_used = |label: &char| count(*label) > 0;
    output.iter().all(|label| once(label) && is_used(label)).then_some(Einsum { inputs, output })
}

fn labels(text: &str) -> Option<Labels> {
    let labels: Labels = text.replacen("...", "\0", 1).chars().collect();
    let valid = |label: &char| label.is_ascii_alphabetic() || *label == '\0';
    let dotted = |label: char| if label == '\0' { ELLIPSIS } else { label };
    labels.iter().all(valid).then(|| labels.into_iter().map(dotted).collect())
}

impl Einsum {
    /// Returns the axes of two operands and of the result, if there is no ellipsis and no repeated letter.
    pub fn pair(&self) -> Option<[&[char]; 3]> {
        let [a, b] = self.inputs.as_slice() else {
            return None;
        };
        let all = [a, b, &self.output];
        let plain = |labels: &&Labels| {
            let once = |label: &char| labels.iter().filter(|letter| *letter == label).count() == 1;
            !labels.contains(&ELLIPSIS) && labels.iter().all(once)
        };
        all.iter().all(plain).then(|| all.map(Vec::as_slice))
    }
}

impl Operator for Einsum {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        if cx.inputs() != self.inputs.len() {
            let what = "the number of operands in `equation`";
            let expected = format_args!("{}, the number of inputs", cx.inputs());
            return Err(Problem::expected(what, self.inputs.len(), expected));
        }
        let first = cx.tensor(0)?;
        if !first.dtype.is_float() && !first.dtype.is_int() {
            return Err(Problem::expected("input 0", first, "floats or integers"));
        }
        let mut sizes: BTreeMap<char, Dim> = BTreeMap::new();
        let mut rest: Vec<Shape> = Vec::new();
        for (at, labels) in self.inputs.iter().enumerate() {
            let x = cx.tensor(at)?;
            sizes::same_type((&format!("input {at}"), &x), ("input 0", &first))?;
            rest.extend(assign(labels, &x, &mut sizes)?);
        }
        let rest = broadcast::shape(cx, &rest)?;
        let mut shape = Shape::new();
        for label in &self.output {
            match sizes.get(label) {
                Some(size) => shape.push(size.clone()),
                None => shape.extend(rest.iter().cloned()),
            }
        }
        cx.output(0, first.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let text = |labels: &Labels| {
            let text: String = labels.iter().collect();
            text.replace(ELLIPSIS, "...")
        };
        let inputs: Vec<String> = self.inputs.iter().map(text).collect();
        let equation = format!("{}->{}", inputs.join(","), text(&self.output));
        let rank = Literal::usize_unsuffixed(cx.output_tensor(0)?.burn_rank());
        let dtype = cx.tensor_type(0)?.dtype;
        if dtype.is_float() {
            let operands = (0..cx.inputs()).map(|at| cx.tensor(at).map(|x| code!(#x.into())));
            let operands = operands.collect::<Result<Vec<_>, Problem>>()?;
            return Ok(code!(ops::einsum::einsum::<#rank>(#equation, [#(#operands),*])));
        }
        // Burn supports integer products only of these types.
        let wide = !matches!(dtype, DType::I32 | DType::I64);
        let operands = (0..cx.inputs()).map(|at| {
            let x = cx.tensor(at)?;
            Ok(if wide { code!(ops::cast::int_to_int(#x, DType::I64).into()) } else { code!(#x.into()) })
        });
        let operands = operands.collect::<Result<Vec<_>, Problem>>()?;
        let product = code!(Tensor::<#rank, Int>::einsum(#equation, [#(#operands),*]));
        let to = format_ident!("{}", dtype.carrier());
        Ok(if wide { code!(ops::cast::int_to_int(#product, DType::#to)) } else { product })
    }
}

/// Records the sizes of an operand's letters, and returns the sizes of its ellipsis.
fn assign(
    labels: &Labels,
    x: &TensorType,
    found: &mut BTreeMap<char, Dim>,
) -> Result<Option<Shape>, Problem> {
    let letters = labels.iter().filter(|&&label| label != ELLIPSIS).count();
    let open = letters < labels.len();
    let extra = x.rank().checked_sub(letters).filter(|&extra| open || extra == 0);
    let Some(extra) = extra else {
        let text: String = labels.iter().collect();
        let expected = format_args!("the axes `{}`", text.replace(ELLIPSIS, "..."));
        return Err(Problem::expected("an operand", x, expected));
    };
    let mut dims = x.shape.iter().cloned();
    let (mut rest, mut own) = (None, BTreeMap::new());
    for &label in labels {
        if label == ELLIPSIS {
            rest = Some(dims.by_ref().take(extra).collect());
            continue;
        }
        let Some(dim) = dims.next() else { continue };
        if let Some(before) = own.insert(label, dim.clone()).filter(|before| sizes::differ(before, &dim)) {
            let problem = format!("axis `{label}` has different sizes in {x}: {before} and {dim}");
            return Err(Problem::new(problem));
        }
        let slot = found.entry(label).or_insert_with(|| dim.clone());
        match (slot.number(), dim.number()) {
            (Some(a), Some(b)) if a != b && a != 1 && b != 1 => {
                let problem = format!("axis `{label}` has different sizes: {a} and {b}");
                return Err(Problem::new(problem));
            }
            // A number other than 1 determines the size; a symbolic size equals it, or is 1.
            (Some(1), _) => *slot = dim,
            (None, Some(b)) if b != 1 => *slot = dim,
            _ => {}
        }
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn letters_and_ellipses_give_the_shape() {
        check(
            r#"
            main (float[N, 2, 3] x, float[3, N] y) => (float[N, 2, N] a, float[3] b, float c) {
                a = Einsum <equation = "...j, jk -> ...k"> (x, y)
                b = Einsum <equation = "abc -> c"> (x)
                c = Einsum <equation = "ij,ij"> (y, y)
            }
            "#,
            expect![[r#"
                main (float32[N, 2, 3] x, float32[3, N_2] y) => (float32[N, 2, N_2] a, float32[3] b, float32[] c)
                {
                    float32[N, 2, N_2] a = Einsum <inputs: [['.', 'j'], ['j', 'k']], output: ['.', 'k']> (x, y)
                    float32[3] b = Einsum <inputs: [['a', 'b', 'c']], output: ['c']> (x)
                    float32[] c = Einsum <inputs: [['i', 'j'], ['i', 'j']]> (y, y)
                }
            "#]],
        );
    }

    #[test]
    fn contradictions_are_problems() {
        check(
            r#"
            main (float[2, 3] x) => (float[2] y) {
                y = Einsum <equation = "ij,jk->ik"> (x, x)
                z = Einsum <equation = "ijk->i"> (x)
            }
            "#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  axis `j` has different sizes: 3 and 2
                    at node `y` (Einsum version 12)

                  an operand is float32[2, 3], expected the axes `ijk`
                    at node `z` (Einsum version 12)

                  model: IR version 10, ai.onnx 21"#]],
        );
        check(
            r#"
            main (float[2, 3] x) => (float[2] y) { y = Einsum <equation = "ij->k"> (x) }
            "#,
            expect![[r#"
                cannot compile `model`

                  `equation` is `ij->k`, expected an equation such as `ij,jk->ik`
                    at node `y` (Einsum opset 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn a_diagonal_is_of_one_size() {
        problems(
            &[
                r#"(float[1, 3] x) => (float y) { y = Einsum <equation = "ii->"> (x) }"#,
                r#"(float[2, 3] x, float[4, 5] z) => (float[2, 5] y) { y = Einsum <equation = "ij,jk->ik"> (x, z) }"#,
            ],
            expect![[r#"
                axis `i` has different sizes in float32[1, 3]: 1 and 3
                axis `j` has different sizes: 3 and 4
            "#]],
        );
    }
}
