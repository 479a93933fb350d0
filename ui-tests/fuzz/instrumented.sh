#!/bin/sh
# Calls rustc as Cargo does, for `RUSTC_WRAPPER`. Crates of this project get counters at each edge, and the operands of
# comparisons, which guide libFuzzer. Macros and build scripts, which are built without `--target`, get none.
rustc=$1
shift
case " $* " in
  *" --crate-name onnx_embed"*" --target "*)
    set -- "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
      -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$rustc" "$@"
