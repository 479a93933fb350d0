//! Parses values of tensors and locations of external ones.

use bytes::Bytes;

use super::Error;
use super::parser::Parser;
use super::tokens::Token;
use crate::proto::{
    DataLocation, DataType, DimensionValue, StringStringEntryProto, TensorProto, TypeProto, TypeValue,
};

impl Parser<'_> {
    /// Parses the values of a tensor after its type and name: `{1, 2}`, or `["location": "file"]`.
    pub(super) fn tensor(&mut self, name: String, value_type: &TypeProto) -> Result<TensorProto, Error> {
        let start = self.start();
        let (data_type, dims) = constant_type(value_type).map_err(|message| self.error_at(start, message))?;
        let mut tensor = TensorProto { name, dims, data_type: data_type.into(), ..Default::default() };
        if self.accept('[') {
            tensor.data_location = DataLocation::External.into();
            tensor.external_data = self.entries(']')?;
            return Ok(tensor);
        }
        if !self.accept('{') {
            return Err(self.expected("tensor values in `{}`"));
        }
        let count = if data_type == DataType::String {
            tensor.string_data = self.strings()?;
            tensor.string_data.len()
        } else {
            let (count, bytes) = self.numbers(data_type)?;
            tensor.raw_data = Some(bytes.into());
            count
        };
        let wanted = tensor
            .dims
            .iter()
            .try_fold(parts(data_type), |product, size| product.checked_mul(usize::try_from(*size).ok()?));
        if wanted != Some(count) {
            let shape = &tensor.dims;
            let message = format!("the number of values is {count}, which does not match shape {shape:?}");
            return Err(self.error_at(start, message));
        }
        Ok(tensor)
    }

    /// Parses `"key": "value"` up to `close`.
    pub(super) fn entries(&mut self, close: char) -> Result<Vec<StringStringEntryProto>, Error> {
        let mut entries = Vec::new();
        self.list(close, |parser| {
            let key = parser.quoted()?;
            parser.expect(':')?;
            entries.push(StringStringEntryProto { key, value: parser.quoted()? });
            Ok(())
        })?;
        Ok(entries)
    }

    fn strings(&mut self) -> Result<Vec<Bytes>, Error> {
        let mut strings = Vec::new();
        self.list('}', |parser| {
            strings.push(parser.quoted()?.into());
            Ok(())
        })?;
        Ok(strings)
    }

    /// Parses numbers up to the closing brace. Returns their number and bytes.
    fn numbers(&mut self, data_type: DataType) -> Result<(usize, Vec<u8>), Error> {
        let mut count = 0;
        let mut stream = BitStream::default();
        self.list('}', |parser| {
            count += 1;
            let (bits, value) = parser.number(data_type)?;
            stream.push(bits, value);
            Ok(())
        })?;
        Ok((count, stream.finish()))
    }

    /// Parses a number and returns its width and bits. Floats of at most 16 bits are written as their bits.
    fn number(&mut self, data_type: DataType) -> Result<(u32, u64), Error> {
        let (lowest, highest, bits) = match data_type {
            DataType::Float | DataType::Complex64 => {
                return Ok((32, self.float::<f32>()?.to_bits().into()));
            }
            DataType::Double | DataType::Complex128 => {
                return Ok((64, self.float::<f64>()?.to_bits()));
            }
            DataType::Bool => (0, 1, 8),
            DataType::Int64 => signed(64),
            DataType::Int32 => signed(32),
            DataType::Int16 => signed(16),
            DataType::Int8 => signed(8),
            DataType::Int4 => signed(4),
            DataType::Int2 => signed(2),
            DataType::Uint64 => unsigned(64),
            DataType::Uint32 => unsigned(32),
            DataType::Uint16 | DataType::Float16 | DataType::Bfloat16 => unsigned(16),
            DataType::Uint8
            | DataType::Float8e4m3fn
            | DataType::Float8e4m3fnuz
            | DataType::Float8e5m2
            | DataType::Float8e5m2fnuz
            | DataType::Float8e8m0 => unsigned(8),
            DataType::Float6e2m3 | DataType::Float6e3m2 => unsigned(6),
            DataType::Uint4 | DataType::Float4e2m1 => unsigned(4),
            DataType::Uint2 => unsigned(2),
            DataType::String | DataType::Undefined => {
                return Err(self.error("a tensor of this type cannot contain numbers"));
            }
        };
        let expected = || self.expected(&format!("an integer from {lowest} to {highest}"));
        let Token::Integer(digits) = self.peek() else {
            return Err(expected());
        };
        let value: i128 = digits.parse().map_err(|_| expected())?;
        if !(lowest..=highest).contains(&value) {
            return Err(expected());
        }
        self.take();
        Ok((bits, value as u64))
    }
}

/// Returns the element type and sizes of a constant. The sizes must be numbers.
fn constant_type(value_type: &TypeProto) -> Result<(DataType, Vec<i64>), &'static str> {
    let Some(TypeValue::Tensor(tensor)) = &value_type.value else {
        return Err("values require a tensor type");
    };
    let data_type = DataType::try_from(tensor.elem_type).map_err(|_| "unknown element type")?;
    let shape = tensor.shape.as_ref().ok_or("a tensor with values requires a shape")?;
    let sizes = shape.dim.iter().map(|dim| match dim.value {
        Some(DimensionValue::Value(size)) => Ok(size),
        _ => Err("a tensor with values requires fixed sizes"),
    });
    Ok((data_type, sizes.collect::<Result<_, _>>()?))
}

/// Returns the number of parts of an element: complex numbers are written as real and imaginary part.
fn parts(data_type: DataType) -> usize {
    match data_type {
        DataType::Complex64 | DataType::Complex128 => 2,
        _ => 1,
    }
}

fn signed(bits: u32) -> (i128, i128, u32) {
    (-(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
}

fn unsigned(bits: u32) -> (i128, i128, u32) {
    (0, (1 << bits) - 1, bits)
}

/// Numbers of any width, lowest bit first, as in `raw_data`.
#[derive(Default)]
struct BitStream {
    bytes: Vec<u8>,
    /// Fewer than eight bits between calls.
    pending: u128,
    width: u32,
}

impl BitStream {
    fn push(&mut self, bits: u32, value: u64) {
        let mask = u64::MAX >> (64 - bits);
        self.pending |= u128::from(value & mask) << self.width;
        self.width += bits;
        while self.width >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.width -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.width > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn parse(text: &str) -> Result<TensorProto, Error> {
        let mut parser = Parser::new(text);
        let value_type = parser.value_type()?;
        parser.tensor(String::new(), &value_type)
    }

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match parse(text) {
            Ok(tensor) => format!("{:?} {:02x?}", tensor.dims, &tensor.raw_data.unwrap()[..]),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn numbers_are_little_endian() {
        check("float[2] {1, -2.5}", expect!["[2] [00, 00, 80, 3f, 00, 00, 20, c0]"]);
        check("int16[2] {258, -2}", expect!["[2] [02, 01, fe, ff]"]);
        check("uint64 {18446744073709551615}", expect!["[] [ff, ff, ff, ff, ff, ff, ff, ff]"]);
        check("double {-inf}", expect!["[] [00, 00, 00, 00, 00, 00, f0, ff]"]);
        check("bool[2] {1, 0}", expect!["[2] [01, 00]"]);
    }

    #[test]
    fn half_floats_are_their_bits() {
        check("float16[1] {15360}", expect!["[1] [00, 3c]"]);
        check(
            "float16[1] {1.0}",
            expect!["line 1, column 13: expected an integer from 0 to 65535, found `1.0`"],
        );
    }

    #[test]
    fn numbers_below_a_byte_are_packed_from_the_lowest_bit() {
        check("int4[3] {1, -1, 7}", expect!["[3] [f1, 07]"]);
        check("uint2[5] {0, 1, 2, 3, 1}", expect!["[5] [e4, 01]"]);
        check("float6e2m3[4] {1, 2, 3, 63}", expect!["[4] [81, 30, fc]"]);
    }

    #[test]
    fn complex_numbers_are_pairs() {
        check("complex64[1] {1, 2}", expect!["[1] [00, 00, 80, 3f, 00, 00, 00, 40]"]);
    }

    #[test]
    fn empty_tensors_have_no_values() {
        check("float[0, 3] {}", expect!["[0, 3] []"]);
    }

    #[test]
    fn strings_stay_separate() {
        let strings = parse(r#"string[2] {"a", "ü"}"#).unwrap().string_data;
        assert_eq!(strings, ["a", "ü"]);
    }

    #[test]
    fn external_tensors_say_where_they_are() {
        let tensor = parse(r#"float[2] ["location": "w.bin", "offset": "8"]"#).unwrap();
        assert_eq!(tensor.data_location, i32::from(DataLocation::External));
        assert_eq!(tensor.external_data[1].value, "8");
        assert_eq!(tensor.raw_data, None);
    }

    #[test]
    fn the_number_of_values_is_that_of_the_shape() {
        check(
            "float[2, 2] {1, 2, 3}",
            expect!["line 1, column 13: the number of values is 3, which does not match shape [2, 2]"],
        );
        check(
            "float[9223372036854775807, 4] {}",
            expect![
                "line 1, column 31: the number of values is 0, which does not match shape [9223372036854775807, 4]"
            ],
        );
    }

    #[test]
    fn values_out_of_range_are_errors() {
        check(
            "int8[1] {128}",
            expect!["line 1, column 10: expected an integer from -128 to 127, found `128`"],
        );
    }

    #[test]
    fn values_left_out_are_an_error() {
        check("int4[9] ...", expect!["line 1, column 9: expected tensor values in `{}`, found `.`"]);
    }

    #[test]
    fn the_sizes_of_a_constant_are_numbers() {
        check("float[N] {1}", expect!["line 1, column 10: a tensor with values requires fixed sizes"]);
    }
}
