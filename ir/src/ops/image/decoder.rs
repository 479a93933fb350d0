//! ImageDecoder: images decoded from the bytes of files.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("ImageDecoder", &[20], decoder)];

/// Channels of the decoded image, `[height, width, channels]`.
#[derive(Clone, Copy, Debug)]
enum Decoder {
    Rgb,
    Bgr,
    Grayscale,
}

attributes!(
    enum Decoder {
        Rgb,
        Bgr,
        Grayscale,
    }
);

fn decoder(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let formats = [("RGB", Decoder::Rgb), ("BGR", Decoder::Bgr), ("Grayscale", Decoder::Grayscale)];
    Ok(Rc::new(a.choice("pixel_format", "RGB", &formats)?))
}

impl Operator for Decoder {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let file = cx.tensor_of_rank(0, 1)?;
        if file.dtype != DType::U8 {
            return Err(Problem::expected("the input", file, "uint8"));
        }
        let channels = match self {
            Decoder::Rgb | Decoder::Bgr => 3,
            Decoder::Grayscale => 1,
        };
        let (height, width) = (cx.fresh("height"), cx.fresh("width"));
        cx.output(0, DType::U8, vec![height, width, Dim::from(channels)]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        // An image may exceed the memory limit.
        cx.may_fail();
        let file = cx.host(0)?;
        let format = match self {
            Decoder::Rgb => code!(Rgb),
            Decoder::Bgr => code!(Bgr),
            Decoder::Grayscale => code!(Grayscale),
        };
        Ok(code!(host::decode_image!(#file, #format)))
    }

    fn wants_host(&self, _: usize) -> bool {
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
    fn files_and_images_are_on_the_host() {
        check(
            r#"
            main (uint8[N] file) => (uint8[h, w, 3] y) {
                y = ImageDecoder <pixel_format = "BGR"> (file)
            }
            "#,
            expect![[r#"
                main (host uint8[N] file) => (host uint8[height, width, 3] y)
                {
                    host uint8[height, width, 3] y = ImageDecoder (file)
                }
            "#]],
        );
    }

    #[test]
    fn pixel_formats_have_names() {
        check(
            r#"
            main (uint8[N] file) => (uint8[h, w, 3] y) {
                y = ImageDecoder <pixel_format = "YUV"> (file)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  `pixel_format` is `YUV`, expected `RGB`, `BGR` or `Grayscale`
                    at node `y` (ImageDecoder opset 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
