#!/usr/bin/env bash
# Other processors than this one: a Cortex-M4 without `std` and 64-bit Arm, both by QEMU, a browser, and WebAssembly in node.
#
#     bash ui-tests/targets.sh              # release builds, and the tests of the kernels on two Arm processors and in node
#     bash ui-tests/targets.sh --short      # the examples, in development builds, as CI does
#     bash ui-tests/targets.sh no-std arm   # some of no-std, arm, kernels, simd128, web
#
# It takes rustup's compiler where rustup has the target, else the one of Debian, which builds the library from source:
#
#     apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld qemu-system-arm \
#         qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross chromium
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target/targets}"
CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")

long=(--release)
parts=()
for argument in "$@"; do
  case $argument in
    --short) long=() ;;
    no-std | arm | kernels | simd128 | web) parts+=("$argument") ;;
    *)
      echo "unknown argument $argument" >&2
      exit 2
      ;;
  esac
done
if [ ${#parts[@]} = 0 ]; then
  parts=(no-std arm web)
  [ ${#long[@]} = 0 ] || parts+=(kernels simd128)
fi

# Runs a command that compiles for target $1: with rustup's compiler where it has the library of the target, else
# with Debian's, in a folder of its own, as two compilers in one would build everything anew at each change.
compile_for() {
  local target=$1
  shift
  if [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; then
    "$@"
  elif [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src ]; then
    PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$CARGO_TARGET_DIR/library" "$@"
  else
    echo "no compiler has $target: rustup target add $target, or Debian's rustc-web, cargo-web and rust-web-src" >&2
    exit 1
  fi
}

# Runs cargo's command $3 for target $1, with parts $2 of the library where it is built from source.
cargo_for() {
  local target=$1 library=$2 command=$3
  shift 3
  [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] || set -- -Z build-std="$library" "$@"
  compile_for "$target" cargo "$command" --target "$target" "$@"
}

size() {
  local file
  file=$(find -L "$CARGO_TARGET_DIR" -path "*$1" -type f -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
  echo "$(stat -c %s "$file") bytes: ${file#"$CARGO_TARGET_DIR"/}"
}

for part in "${parts[@]}"; do
  printf '\n-- %s (%s s)\n' "$part" "$SECONDS"
  folder=debug
  [ ${#long[@]} = 0 ] || folder=release
  case $part in
    no-std)
      cd examples/no-std
      CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=ld.lld \
        cargo_for thumbv7em-none-eabihf core,alloc run "${long[@]}"
      size "thumbv7em-none-eabihf/$folder/no-std"
      ;;
    arm)
      cd examples/arm
      cargo_for aarch64-unknown-linux-gnu std,panic_abort,panic_unwind run "${long[@]}"
      size "aarch64-unknown-linux-gnu/$folder/arm"
      ;;
    kernels)
      # With products of bytes (`dotprod`), and without.
      for processor in max cortex-a53; do
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
          CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -cpu $processor -L /usr/aarch64-linux-gnu" \
          cargo_for aarch64-unknown-linux-gnu std,panic_abort,panic_unwind,test test -p onnx-embed-kernels --features deterministic \
          --lib --config profile.dev.package.gemm-f16.opt-level=3
      done
      ;;
    simd128)
      # A panic ends a program for WebAssembly, and there are no threads: tests of both are left out, with those of sizes
      # above 32 bits.
      CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $root/ui-tests/bench/wasm.mjs" \
        RUSTFLAGS='-C target-feature=+simd128 -A arithmetic_overflow' \
        cargo_for wasm32-wasip1 std,panic_abort,test test -p onnx-embed-kernels --features deterministic --lib -- flex:: \
        deterministic:: --skip flex::memory --skip flex::threads --skip deterministic::tests::threads
      ;;
    web)
      how=(--dev --device flex)
      [ ${#long[@]} = 0 ] || how=()
      compile_for wasm32-unknown-unknown python3 examples/web/run.py --check "${how[@]}"
      ;;
  esac
  cd "$root"
done
echo "the targets: ${parts[*]}, ${SECONDS} s"
