#!/usr/bin/env bash
# Fuzzes the compiler, what reads files, and compiled programs, with libFuzzer.
#
#     bash ui-tests/fuzz/fuzz.sh                   # a minute for each target
#     bash ui-tests/fuzz/fuzz.sh 3600 graph text   # an hour each for two of them
#
# Targets are the files of `fuzz_targets`; `targets` and `programs` say what must hold. A file for which it doesn't hold goes
# to `found`, where the tests of these packages run it from then on; `cargo fuzz tmin` makes it smaller. What a run learns stays
# in `corpus`, which git ignores.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_INCREMENTAL=0
target=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")
host=$(rustc -vV | sed -n 's/^host: //p')

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)

features=()
for name in "${targets[@]}"; do
  # For these, Burn is built once more.
  case $name in run | weights) features=(--features programs) ;; esac
done
RUSTC_WRAPPER=$PWD/instrumented.sh CARGO_TARGET_DIR=$target/fuzz \
  cargo build --release --target "$host" "${features[@]}" "${targets[@]/#/--bin=}"

for name in "${targets[@]}"; do
  printf '\n-- %s (%s s)\n' "$name" "$SECONDS"
  seeds=$target/fuzz/seeds/$name
  mkdir -p "corpus/$name" "found/$name"
  cargo run --quiet --manifest-path targets/Cargo.toml --target-dir "$target" --bin seeds -- "$name" "$seeds"
  # A call may take 20 seconds; targets limit their memory themselves.
  "$target/fuzz/$host/release/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=8192 -max_len=65536 \
    -artifact_prefix="found/$name/" -print_final_stats=1 "corpus/$name" "$seeds" 2>&1 | grep -vE "^#|^\"|Recommended|recommended|^INFO"
  rmdir --ignore-fail-on-non-empty "found/$name"
done
