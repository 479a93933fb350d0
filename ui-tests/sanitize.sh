#!/usr/bin/env bash
# Checks of the kernels' memory and threads that see more than tests: which accesses happen, and in which order.
#
#     bash ui-tests/sanitize.sh                # all of them
#     bash ui-tests/sanitize.sh loom           # the thread pool in every order of steps, half a minute
#     bash ui-tests/sanitize.sh miri           # the tests of output memory and its division, interpreted
#     bash ui-tests/sanitize.sh asan           # all kernel tests under AddressSanitizer, for each set of instructions
#     bash ui-tests/sanitize.sh asan softmax   # those whose names hold a word; so for miri
#
# Miri and AddressSanitizer need a nightly toolchain:
#
#     rustup toolchain install nightly --profile minimal --component miri --component rust-src
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

checks=()
while [[ ${1:-} =~ ^(loom|miri|asan)$ ]]; do
  checks+=("$1")
  shift
done
[ ${#checks[@]} -gt 0 ] || checks=(loom miri asan)

# Whether this processor has a set of instructions.
has_instructions() {
  case $1 in
    portable) ;;
    avx512) grep -qw avx512f /proc/cpuinfo ;;
    *) grep -qw "$1" /proc/cpuinfo ;;
  esac
}

for check in "${checks[@]}"; do
  printf '\n-- %s (%s s)\n' "$check" "$SECONDS"
  case $check in
    loom)
      cargo test --manifest-path ui-tests/interleavings/Cargo.toml --target-dir "$target/interleavings"
      ;;
    miri)
      # Miri has no instructions beyond the portable set. Isolation is off for the clock and the environment; threads of the pool
      # outlive the tests.
      only=("$@")
      [ $# -gt 0 ] || only=(flex::memory::{region,parallel,serial,slices}::)
      RUST_BACKTRACE=0 MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-ignore-leaks' CARGO_TARGET_DIR=$target/miri \
        cargo +nightly miri test -p onnx-embed-kernels --lib -- "${only[@]}"
      MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=$target/miri cargo +nightly miri test -p onnx-embed-memory --tests
      ;;
    asan)
      # Each buffer has an allocation of its own, so that an access beyond one is beyond an allocation. Some tests ask for more memory
      # than there is; those that limit a time are for other builds.
      for set in avx512 avx2 portable; do
        if ! has_instructions "$set"; then
          echo "left out: this processor has no $set"
          continue
        fi
        printf '\n-- %s with %s (%s s)\n' "$check" "$set" "$SECONDS"
        ONNX_EMBED_INSTRUCTIONS=$set ONNX_EMBED_UNPOOLED=1 ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 \
          RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$target/asan \
          cargo +nightly test -p onnx-embed-kernels --lib --target x86_64-unknown-linux-gnu -- "$@" --skip take_little_time
      done
      ;;
  esac
done
printf '\nchecked: %s, %s s\n' "${checks[*]}" "$SECONDS"
