//! MurmurHash3: hashes of strings and numbers.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("MurmurHash3", &[1], |a| {
    // Only the low 32 bits of the seed are used.
    let seed = a.int_or("seed", 0)? as u32;
    let unsigned = a.int_or("positive", 1)? == 1;
    Ok(Rc::new(MurmurHash3 { seed, unsigned }))
})
.of(MICROSOFT)];

/// A 32-bit hash of each element.
#[derive(Debug)]
struct MurmurHash3 {
    seed: u32,
    unsigned: bool,
}

attributes!(struct MurmurHash3 { seed, unsigned });

impl Operator for MurmurHash3 {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        use DType::*;
        let x = cx.tensor(0)?;
        if !matches!(x.dtype, I32 | I64 | U32 | U64 | F32 | F64 | String) {
            return Err(Problem::expected("the input", x, "strings or numbers of 32 or 64 bits"));
        }
        cx.output(0, if self.unsigned { U32 } else { I32 }, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.host(0)?;
        let seed = Literal::u32_unsuffixed(self.seed);
        let hashes = code!(host::murmur_hash_3(#x, #seed));
        Ok(match self.unsigned {
            true => hashes,
            false => code!(host::cast::<_, i32>(&#hashes)),
        })
    }

    fn wants_host(&self, _input: usize) -> bool {
        true
    }

    fn makes_host(&self) -> bool {
        true
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn hashes_are_on_the_host() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> g (string[n, 2] a, float[3] b) => (uint32[n, 2] x, int32[3] y) {
                x = com.microsoft.MurmurHash3(a)
                y = com.microsoft.MurmurHash3<positive: int = 0, seed: int = -1>(b)
            }"#,
            expect![[r#"
                g (host string[n, 2] a, host float32[3] b) => (host uint32[n, 2] x, host int32[3] y)
                {
                    host uint32[n, 2] x = com.microsoft.MurmurHash3 <seed: 0, unsigned: true> (a)
                    host int32[3] y = com.microsoft.MurmurHash3 <seed: 4294967295> (b)
                }
            "#]],
        );
    }

    #[test]
    fn types_that_have_no_hash_are_refused() {
        problems(
            &["(float16[2] x) => (uint32[2] y) { y = com.microsoft.MurmurHash3 (x) }"],
            expect![[r#"
                the input is float16[2], expected strings or numbers of 32 or 64 bits
            "#]],
        );
    }
}
