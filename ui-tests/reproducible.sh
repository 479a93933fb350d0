#!/usr/bin/env bash
# Builds the example `mnist` from two copies of this checkout in different folders, and compares the programs byte by
# byte. Its model is longer than in the checkout, so that the assembler embeds it.
#
#   reproducible.sh            release builds of everything, in two target folders, with the flags of the guide
#   reproducible.sh --short    dependencies are built once, without flags: they are at the same path in both builds
#   reproducible.sh --dev      development builds; also with --short
#
# In the short form CARGO_TARGET_DIR may name a folder in which dependencies are built already.
set -euo pipefail
cd "$(dirname "$0")/.."

short=false
profile=release
for argument in "$@"; do
  case $argument in
    --short) short=true ;;
    --dev) profile=dev ;;
    *)
      echo "unknown argument $argument, expected --short or --dev" >&2
      exit 2
      ;;
  esac
done

work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
# Paths of different lengths, one with a space.
copies=("$work/a" "$work/in another folder/checkout")
built=("$work/first" "$work/second")
shared=$(realpath -m "${CARGO_TARGET_DIR:-$work/target}")
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

copy() {
  mkdir -p "$1"
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$1"
  # A description of 2 MiB: field 6 of the message.
  { printf '\x32\x80\x80\x80\x01' && head -c 2097152 /dev/zero; } >>"$1/examples/mnist/mnist.onnx"
  # Cargo compares times of files with those of the build before, which may be of the other copy.
  find "$1" -type f -exec touch {} +
}

# Builds the program of a copy: the folder of the copy, the target folder, the file to write, rustc's flags.
build() {
  local folder=$1 target=$2 program=$3 log=$work/log
  shift 3
  local flags
  flags=$(printf '%s\x1f' "$@")
  (
    cd "$folder"
    [ $# -eq 0 ] || export CARGO_ENCODED_RUSTFLAGS=${flags%$'\x1f'}
    CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0 cargo build --locked --profile "$profile" --bin mnist 2>&1
  ) | tee "$log"
  for package in onnx-embed-ir onnx-embed-macros onnx-embed-kernels onnx-embed mnist; do
    if ! grep -q "Compiling $package v.* (${folder}" "$log"; then
      echo "$package was not built from $folder" >&2
      return 1
    fi
  done
  mv "$target/${profile/dev/debug}/mnist" "$program"
}

for index in 0 1; do
  folder=${copies[index]}
  copy "$folder"
  if $short; then
    build "$folder" "$shared" "${built[index]}"
  else
    home=${CARGO_HOME:-$HOME/.cargo}
    target="$work/target $index"
    build "$folder" "$target" "${built[index]}" "--remap-path-prefix=$home=/cargo" \
      "--remap-path-prefix=$folder=/source" "--remap-path-prefix=$target=/target"
  fi
done

sha256sum "${built[@]}"
cmp "${built[@]}"
for program in "${built[@]}"; do
  if grep -qaF "$work" "$program"; then
    echo "the program contains the path of its folder" >&2
    exit 1
  fi
  "$program" "${copies[0]}/examples/mnist/digits/7.png" >/dev/null
done
echo 'the programs are equal'
