//! Embedding of model files in the program.
//!
//! With `include_bytes!` alone, rustc needs many times the size of a file in memory: with several codegen units and
//! link-time optimization between them, each unit writes and reads the bytes as bitcode. On targets whose assembler
//! supports it, the assembler therefore writes larger files to the object file. An `include_bytes!` in an unused
//! function remains: rustc compares the length there, and Cargo compiles the crate again when the file changes.

/// Returns the bytes of a model file as `&'static [u8]`.
///
/// If the file does not have the length that the macro read, the expansion is a type error. With a symbol and assembler
/// directives for the bytes, the file is assembled. The lint `unsafe_code` ignores expansions of macros of other
/// crates, so crates that forbid unsafe code can embed models.
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

/// Returns the bytes of a file as a static that `$assembly` defines.
///
/// The symbol identifies the contents: if several crates or modules embed a file, the linker keeps one copy, and
/// `.ifndef` omits further ones in one object. If the file was truncated since its length was read, `.org` pads it with
/// zeros, so the static always has its length.
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

/// Version for ELF.
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

/// Version for Mach-O, where symbols begin with `_`.
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

/// Version for COFF.
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

/// Version for COFF on 32-bit x86, where symbols begin with `_`.
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

/// Version for Miri and for targets without a suitable assembler, such as WebAssembly.
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
