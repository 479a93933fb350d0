//! Model files in the program.
//!
//! `include_bytes!` alone costs rustc many times the size of a file in memory: with several codegen units and link-time
//! optimization between them, each writes and reads the bytes as bitcode. So the assembler puts larger files into the
//! object file, where the target has an assembler that can, and `include_bytes!` stands in a function that nobody
//! calls: rustc compares the length there, and Cargo compiles again when the file changes.

/// The bytes of a file of the model, as `&'static [u8]`.
///
/// A file that has another length than the macro read is an error of types. With a symbol and directives of
/// the assembler for the bytes, the file is assembled. The lint `unsafe_code` does not apply to the
/// expansions of macros of other crates, so that crates that forbid it can have models.
///
/// ```
/// let bytes: &'static [u8] = onnx_embed::embedded!(b"four", 4);
/// assert_eq!(bytes, b"four");
/// ```
///
/// ```compile_fail,E0308
/// onnx_embed::embedded!(b"four", 3);
/// ```
///
/// ```compile_fail,E0308
/// onnx_embed::embedded!(b"four", 3, "onnx_embed_test", ".byte 1,2,3");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! embedded {
    ($bytes:expr, $length:literal) => {{
        let bytes: &'static [::core::primitive::u8; $length] = $bytes;
        bytes as &'static [::core::primitive::u8]
    }};
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::assembled!($bytes, $length, $symbol, $directives)
    };
}

/// The bytes of a file as a static that `$assembly` defines.
///
/// The symbol stands for the contents: where several crates or modules embed one file, the linker keeps one
/// copy, and `.ifndef` leaves out further ones in one object. What the file lacks since its length was read
/// is filled with 0 by `.org`, so that the static has its length whatever becomes of the file.
#[doc(hidden)]
#[macro_export]
macro_rules! assembled_by {
    ($bytes:expr, $length:literal, $symbol:literal, $($assembly:expr),*) => {{
        mod assembled {
            ::core::arch::global_asm!($($assembly),*, options(raw));
        }

        #[allow(dead_code)]
        fn watched() {
            let _: &'static [::core::primitive::u8; $length] = $bytes;
        }

        unsafe extern "C" {
            #[link_name = $symbol]
            safe static ASSEMBLED: [::core::primitive::u8; $length];
        }

        &ASSEMBLED as &'static [::core::primitive::u8]
    }};
}

/// ELF.
#[cfg(all(
    not(miri),
    not(target_vendor = "apple"),
    not(windows),
    not(target_os = "uefi"),
    not(target_os = "cygwin"),
    any(
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "loongarch64",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_arch = "s390x",
        target_arch = "x86",
        target_arch = "x86_64"
    )
))]
#[doc(hidden)]
#[macro_export]
macro_rules! assembled {
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::assembled_by!(
            $bytes,
            $length,
            $symbol,
            concat!(".ifndef ", $symbol),
            concat!(".pushsection .rodata.", $symbol, ",\"aG\",%progbits,", $symbol, ",comdat"),
            ".p2align 6",
            concat!(".weak ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ",%object"),
            concat!(".size ", $symbol, ",", $length),
            concat!($symbol, ":"),
            $directives,
            concat!(".org ", $symbol, "+", $length),
            ".popsection",
            ".endif"
        )
    };
}

/// Mach-O, where symbols begin with `_`.
#[cfg(all(not(miri), target_vendor = "apple"))]
#[doc(hidden)]
#[macro_export]
macro_rules! assembled {
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::assembled_by!(
            $bytes,
            $length,
            $symbol,
            concat!(".ifndef _", $symbol),
            ".pushsection __TEXT,__const",
            ".p2align 6",
            concat!(".globl _", $symbol),
            concat!(".weak_definition _", $symbol),
            concat!(".private_extern _", $symbol),
            concat!("_", $symbol, ":"),
            $directives,
            concat!(".org _", $symbol, "+", $length),
            ".popsection",
            ".endif"
        )
    };
}

/// COFF.
#[cfg(all(not(miri), windows, not(target_arch = "x86")))]
#[doc(hidden)]
#[macro_export]
macro_rules! assembled {
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::assembled_by!(
            $bytes,
            $length,
            $symbol,
            concat!(".ifndef ", $symbol),
            concat!(".pushsection .rdata$", $symbol, ",\"dr\",discard,", $symbol),
            ".p2align 6",
            concat!(".globl ", $symbol),
            concat!($symbol, ":"),
            $directives,
            concat!(".org ", $symbol, "+", $length),
            ".popsection",
            ".endif"
        )
    };
}

/// COFF for 32-bit x86, where symbols begin with `_`.
#[cfg(all(not(miri), windows, target_arch = "x86"))]
#[doc(hidden)]
#[macro_export]
macro_rules! assembled {
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::assembled_by!(
            $bytes,
            $length,
            $symbol,
            concat!(".ifndef _", $symbol),
            concat!(".pushsection .rdata$", $symbol, ",\"dr\",discard,_", $symbol),
            ".p2align 6",
            concat!(".globl _", $symbol),
            concat!("_", $symbol, ":"),
            $directives,
            concat!(".org _", $symbol, "+", $length),
            ".popsection",
            ".endif"
        )
    };
}

/// Targets whose assembler does not do it, or that have none, as WebAssembly, and Miri.
#[cfg(any(
    miri,
    target_os = "uefi",
    target_os = "cygwin",
    all(
        not(target_vendor = "apple"),
        not(windows),
        not(any(
            target_arch = "aarch64",
            target_arch = "arm",
            target_arch = "loongarch64",
            target_arch = "riscv32",
            target_arch = "riscv64",
            target_arch = "s390x",
            target_arch = "x86",
            target_arch = "x86_64"
        ))
    )
))]
#[doc(hidden)]
#[macro_export]
macro_rules! assembled {
    ($bytes:expr, $length:literal, $symbol:literal, $directives:literal) => {
        $crate::embedded!($bytes, $length)
    };
}
