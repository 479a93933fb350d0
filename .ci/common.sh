# What `.ci/run` and `.ci/full` share. It is sourced in the root of the checkout.
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
# A folder outside of the checkout keeps dependencies from one run to the next, if the caller names one.
target=${CARGO_TARGET_DIR:-$PWD/target}
models=../shared/models

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

# Installs Debian packages that are missing; fails if they cannot be installed.
install_packages() {
  dpkg -s "$@" >/dev/null 2>&1 && return
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The test programs of the workspace. Cargo builds Burn with other features for one package than for all,
# so the programs of `cargo test --workspace` run again by their paths.
find_programs() {
  programs=$(cargo test --workspace --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p' | xargs realpath)
}

# Runs a test program of the workspace again: its name, the folder to run it in, and its arguments.
again() {
  local program folder=$2
  program=$(grep "/$1-[0-9a-f]*$" <<<"$programs")
  shift 2
  (cd "$folder" && "$program" "$@" 2>&1 | grep -v '\.\.\. ok$')
}

# Sets `python` to an interpreter with onnx and ONNX Runtime, or to nothing if no registry can be reached.
find_python() {
  python=$target/python/bin/python
  if ! { python3 -m venv "$target/python" && "$python" -m pip install -q --retries 2 onnx onnxruntime numpy; }; then
    echo 'skipped: onnxruntime cannot be installed, as no package registry can be reached'
    python=
  fi
}

# Compares models with their recorded outputs.
# With `--bin`, which has the features of the workspace, it is the program that tests have built.
verify() { cargo run --bin cargo-onnx-embed -- verify "$@"; }

# Sets `known` to the arguments that say which of the real models may differ, and why.
list_known_differences() {
  if [ -n "$python" ]; then
    known=(--exact --python "$python")
  else
    known=(--at-least 104 --expect ui-tests/models/expectations.toml)
  fi
}
