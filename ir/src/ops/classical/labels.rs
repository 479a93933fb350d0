//! Tables that map labels, numbers and strings.

use std::cmp::Ordering;
use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, any_of, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{ML, Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[
    row("CategoryMapper", &[1], category_mapper).of(ML),
    row("LabelEncoder", &[1, 2, 4], label_encoder).of(ML),
];

/// The value of each key, or the default. Integers and strings have a table for each direction if the type of the input
/// determines the direction.
#[derive(Debug)]
struct LookUp {
    tables: Vec<Table>,
}

attributes!(struct LookUp { tables });

/// Sorted keys, their values, and the default for all other inputs.
#[derive(Debug)]
struct Table {
    keys: Labels,
    values: Labels,
    default: Labels,
}

attributes!(struct Table { keys, values, default });

/// Keys or values of one type.
#[derive(Clone, Debug)]
pub struct Labels {
    pub dtype: DType,
    elements: Known,
}

attributes!(struct Labels { dtype, elements });

/// Precedence of equal keys.
#[derive(Clone, Copy, Debug)]
pub enum Wins {
    First,
    Last,
}

fn category_mapper(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let numbers = Labels::ints(a.ints("cats_int64s")?.unwrap_or_default());
    let strings = Labels::strings(a.strings("cats_strings")?.unwrap_or_default());
    both(a, numbers, strings)
}

fn label_encoder(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 2 {
        let classes = a.strings("classes_strings")?.unwrap_or_default();
        let indices = (0..).take(classes.len()).collect();
        return both(a, Labels::ints(indices), Labels::strings(classes));
    }
    let (keys, values) = (list(a, "keys")?, list(a, "values")?);
    let unused = (a.int("default_int64")?, a.float("default_float")?, a.string("default_string")?);
    let default = match (tensor(a, "default_tensor")?, values.dtype) {
        (Some(default), dtype) if default.dtype == dtype => default,
        (Some(default), dtype) => {
            let message = format!("`default_tensor` has type {}, expected {dtype}", default.dtype);
            return Err(Problem::new(message));
        }
        (None, DType::String) => Labels::strings(vec![unused.2.unwrap_or(UNUSED.to_owned())]),
        (None, DType::F32 | DType::F64) => {
            Labels { dtype: values.dtype, elements: Known::Floats(vec![f64::from(unused.1.unwrap_or(-0.0))]) }
        }
        (None, dtype) => Labels { dtype, elements: Known::Ints(vec![Dim::from(unused.0.unwrap_or(-1))]) },
    };
    let wins = match a.version() {
        ..4 => Wins::First,
        _ => Wins::Last,
    };
    let tables = vec![Table::new(keys, values, default, wins)?];
    Ok(Rc::new(LookUp { tables }))
}

/// Default value if the values are strings.
const UNUSED: &str = "_Unused";

/// Creates the tables from integers to strings and back.
fn both(a: &Attributes<'_>, numbers: Labels, strings: Labels) -> Result<Rc<dyn Operator>, Problem> {
    let number = Labels::ints(vec![a.int_or("default_int64", -1)?]);
    let string = Labels::strings(vec![a.string_or("default_string", UNUSED)?]);
    let tables = vec![
        Table::new(numbers.clone(), strings.clone(), string, Wins::Last)?,
        Table::new(strings, numbers, number, Wins::Last)?,
    ];
    Ok(Rc::new(LookUp { tables }))
}

/// Reads the one attribute of `keys_floats`, `keys_tensor` and so on that is present.
fn list(a: &Attributes<'_>, name: &str) -> Result<Labels, Problem> {
    let mut found = Vec::new();
    found.extend(a.ints(&format!("{name}_int64s"))?.map(Labels::ints));
    found.extend(a.strings(&format!("{name}_strings"))?.map(Labels::strings));
    found.extend(a.floats(&format!("{name}_floats"))?.map(Labels::floats));
    if a.version() >= 4 {
        found.extend(tensor(a, &format!("{name}_tensor"))?);
    }
    // Exporters write unused attributes as empty lists.
    if found.len() > 1 {
        found.retain(|labels| !labels.is_empty());
    }
    let count = found.len();
    match (found.pop(), count) {
        (Some(labels), 1) => Ok(labels),
        _ => Err(Problem::new(format!("expected one attribute `{name}_*`, found {count}"))),
    }
}

fn tensor(a: &Attributes<'_>, name: &str) -> Result<Option<Labels>, Problem> {
    if let Some((_, strings)) = a.string_tensor(name)? {
        return Ok(Some(Labels::strings(strings)));
    }
    let Some(weight) = a.tensor(name)? else {
        return Ok(None);
    };
    let types = [DType::F32, DType::F64, DType::I16, DType::I32, DType::I64];
    match weight.elements() {
        Some(elements) if types.contains(&weight.dtype) => Ok(Some(Labels { dtype: weight.dtype, elements })),
        _ => Err(Problem::expected(
            format_args!("`{name}`"),
            weight.tensor_type(),
            "strings, floats of 32 or 64 bits, or integers of 16 to 64 bits",
        )),
    }
}

impl Labels {
    pub fn ints(ints: Vec<i64>) -> Self {
        let elements = Known::Ints(ints.into_iter().map(Dim::from).collect());
        Labels { dtype: DType::I64, elements }
    }

    pub fn strings(strings: Vec<String>) -> Self {
        Labels { dtype: DType::String, elements: Known::Strings(strings) }
    }

    pub fn floats(floats: Vec<f32>) -> Self {
        let elements = Known::Floats(floats.into_iter().map(f64::from).collect());
        Labels { dtype: DType::F32, elements }
    }

    pub fn len(&self) -> usize {
        self.elements.len()
    }

    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns each element as a literal.
    pub fn literals(&self) -> Vec<Code> {
        match &self.elements {
            Known::Ints(ints) => {
                let literal = |int: &Dim| {
                    let int = Literal::i64_unsuffixed(int.number().unwrap_or_default());
                    code!(#int)
                };
                ints.iter().map(literal).collect()
            }
            Known::Floats(floats) => floats.iter().map(|float| float_literal(*float, self.dtype)).collect(),
            Known::Strings(strings) => strings.iter().map(|string| code!(#string)).collect(),
            Known::Bools(bools) => bools.iter().map(|bool| code!(#bool)).collect(),
        }
    }

    /// Returns the indices of the distinct elements, sorted by element.
    pub fn order(&self, wins: Wins) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.len()).collect();
        indices.sort_by(|&a, &b| self.compare(a, b));
        let equal = |a: usize, b: usize| self.compare(a, b).is_eq();
        match wins {
            Wins::First => indices.dedup_by(|b, a| equal(*a, *b)),
            Wins::Last => indices.dedup_by(|b, a| {
                let equal = equal(*a, *b);
                if equal {
                    *a = *b;
                }
                equal
            }),
        }
        indices
    }

    /// Compares two elements. NaN values are equal and greater than all numbers, and both zeros are equal.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        match &self.elements {
            Known::Ints(ints) => {
                let at = |at: usize| ints.get(at).and_then(Dim::number);
                at(a).cmp(&at(b))
            }
            Known::Floats(floats) => {
                let (a, b) = (floats.get(a), floats.get(b));
                let nan = |float: Option<&f64>| float.is_some_and(|float| float.is_nan());
                a.partial_cmp(&b).unwrap_or_else(|| nan(a).cmp(&nan(b)))
            }
            Known::Strings(strings) => strings.get(a).cmp(&strings.get(b)),
            Known::Bools(bools) => bools.get(a).cmp(&bools.get(b)),
        }
    }

    fn pick(&self, indices: &[usize]) -> Option<Self> {
        let elements = self.elements.pick(indices)?;
        Some(Labels { dtype: self.dtype, elements })
    }
}

impl Table {
    fn new(keys: Labels, values: Labels, default: Labels, wins: Wins) -> Result<Self, Problem> {
        let order = keys.order(wins);
        let (count, others) = (keys.len(), values.len());
        sizes::length("`default_tensor`", default.len(), 1)?;
        match (keys.pick(&order), values.pick(&order)) {
            (Some(keys), Some(values)) if count == others => Ok(Table { keys, values, default }),
            _ => {
                let expected = format!("{others}, the number of values");
                Err(Problem::expected("the number of keys", count, expected))
            }
        }
    }
}

impl Operator for LookUp {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let table = self.table(x.dtype)?;
        cx.output(0, table.values.dtype, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let table = self.table(cx.tensor_type(0)?.dtype)?;
        let (mut x, output) = (cx.host(0)?, table.values.dtype);
        if table.keys.dtype == DType::String {
            x = code!(&host::texts(#x));
        }
        let (keys, values) = (table.keys.literals(), table.values.literals());
        let entries = keys.iter().zip(&values);
        let entries = entries.map(|(key, value)| code!((#key, #value)));
        let default = table.default.literals();
        let found = match output {
            DType::String => {
                code!(host::owned(&host::look_up(#x, &[#(#entries),*], #(#default)*)))
            }
            _ => {
                let element = crate::emit::host_element(output);
                code!(host::look_up::<_, #element>(#x, &[#(#entries),*], #(#default)*))
            }
        };
        Ok(found)
    }

    fn makes_host(&self) -> bool {
        true
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl LookUp {
    fn table(&self, dtype: DType) -> Result<&Table, Problem> {
        let found = self.tables.iter().find(|table| table.keys.dtype == dtype);
        found.ok_or_else(|| {
            let types: Vec<_> = self.tables.iter().map(|table| table.keys.dtype.name()).collect();
            Problem::new(format!("the input has type {dtype}, expected {}", any_of(&types)))
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    fn ml(version: i64, graph: &str, expected: expect_test::Expect) {
        let opsets = format!(r#"["" : 21, "ai.onnx.ml" : {version}]"#);
        check(&format!("<ir_version: 10, opset_import: {opsets}> {graph}"), expected);
    }

    #[test]
    fn one_list_of_strings_goes_both_ways() {
        ml(
            1,
            r#"g (string[n] x, int64[n] y) => (int64[a] i, string[b] s) {
                i = ai.onnx.ml.LabelEncoder<classes_strings: strings = ["b", "a", "b"]>(x)
                s = ai.onnx.ml.CategoryMapper<cats_int64s: ints = [7, 3], cats_strings: strings = ["b", "a"]>(y)
            }"#,
            expect![[r#"
                g (host string[n] x, host int64[n_2] y) => (host int64[n] i, host string[n_2] s)
                {
                    host int64[n] i = ai.onnx.ml.LabelEncoder <..> (x)
                    host string[n_2] s = ai.onnx.ml.CategoryMapper <..> (y)
                }
            "#]],
        );
    }

    #[test]
    fn keys_are_in_order() {
        ml(
            4,
            r#"g (float[n] x) => (string[a] y, double[b] z) {
                y = ai.onnx.ml.LabelEncoder<keys_floats: floats = [2.0, 1.0, 2.0], values_strings: strings = ["a", "b", "c"]>(x)
                z = ai.onnx.ml.LabelEncoder<keys_tensor: tensor = float[1] {1}, values_tensor: tensor = double[1] {2}>(x)
            }"#,
            expect![[r#"
                g (host float32[n] x) => (host string[n] y, host float64[n] z)
                {
                    host string[n] y = ai.onnx.ml.LabelEncoder <tables: [{keys: {dtype: F32, elements: {[1.0, 2.0]}}, values: {dtype: String, elements: {["b", "c"]}}, default: {dtype: String, elements: {["_Unused"]}}}]> (x)
                    host float64[n] z = ai.onnx.ml.LabelEncoder <tables: [{keys: {dtype: F32, elements: {[1.0]}}, values: {dtype: F64, elements: {[2.0]}}, default: {dtype: F64, elements: {[-0.0]}}}]> (x)
                }
            "#]],
        );
    }

    #[test]
    fn keys_without_values_are_refused() {
        ml(
            2,
            r#"g (int64[n] x) => (string[a] y, int64[b] z, int64[c] w) {
                y = ai.onnx.ml.LabelEncoder<keys_int64s: ints = [1], values_strings: strings = ["a", "b"]>(x)
                z = ai.onnx.ml.LabelEncoder<keys_int64s: ints = [1]>(x)
                w = ai.onnx.ml.LabelEncoder<keys_strings: strings = ["1"], values_int64s: ints = [1]>(x)
            }"#,
            expect![[r#"
                cannot compile `model`: 3 problems

                  the number of keys is 1, expected 2, the number of values
                    at node `y` (ai.onnx.ml.LabelEncoder opset 2)

                  expected one attribute `values_*`, found 0
                    at node `z` (ai.onnx.ml.LabelEncoder opset 2)

                  the input has type int64, expected string
                    at node `w` (ai.onnx.ml.LabelEncoder version 2)

                  model: IR version 10, ai.onnx 21, ai.onnx.ml 2"#]],
        );
    }
}
