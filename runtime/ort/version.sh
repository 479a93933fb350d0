#!/usr/bin/env bash
# Runs a command of Cargo on this crate for another release of `ort`: `bash version.sh 15 test` for 2.0.0-rc.15.
#
# The minor version of this package is the number of the release candidate, which `build.rs` reads. All versions have
# the same sources, in which `cfg(ort_release = "15")` marks the differences. `bash version.sh 15 copy` only writes the
# version, and prints its folder.
set -euo pipefail
release=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
if [ "$release" = 12 ]; then
  # A copy of the same version would share its artifacts with the original.
  exec cargo "$1" --manifest-path "$here/Cargo.toml" "${@:2}"
fi
copy=${CARGO_TARGET_DIR:-$here/target}/ort-rc.$release
mkdir -p "$copy"
rm -rf "$copy"/{src,tests}
cp -r "$here"/{Cargo.toml,Cargo.lock,README.md,build.rs,src,tests} "$copy"
sed -i "s/^version = \"0\.12\./version = \"0.$release./; s/2\.0\.0-rc\.12/2.0.0-rc.$release/
  s|path = \"\.\./\"|path = \"$here/../\"|" "$copy/Cargo.toml"
if [ "$release" -lt 12 ]; then
  # These releases have no features for versions of the C API: all functions are there.
  sed -i 's/"api-[0-9]*", //g' "$copy/Cargo.toml"
fi
if [ "$*" = copy ]; then
  echo "$copy"
  exit
fi
cargo "$1" --manifest-path "$copy/Cargo.toml" "${@:2}"
