#!/usr/bin/env bash
# A sample of what each exporter writes, compared with ONNX Runtime: `bash ui-tests/exporters/sample.sh [NAME..]`.
# It installs the exporters in environments of their own, one after another: up to 6 GB on the disk and half an hour.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
folder=$target/exporters
mkdir -p "$folder"

# sample NAME MODELS SCRIPT PACKAGES [ARGUMENTS..]: exports, and compares about so many of the models.
sample() {
  local name=$1 models=$2 script=$3 packages=$4 count all
  shift 4
  printf '\n%s: %s\n' "$name" "$packages"
  python3 -m venv "$folder/python"
  # shellcheck disable=SC2086 # one word for each package
  "$folder/python/bin/python" -m pip install -q $packages onnxruntime
  OMP_NUM_THREADS=1 "$folder/python/bin/python" "ui-tests/exporters/$script.py" "$folder/$name" "$@"
  rm -rf "$folder/python"
  mapfile -t all < <(find "$folder/$name" -name io.npz -printf '%h\n' | sort)
  count=${#all[@]}
  if [ "$count" -lt "$models" ]; then
    echo "$name: only $count models were exported, not $models"
    exit 1
  fi
  mapfile -t all < <(printf '%s\n' "${all[@]}" | awk "(NR * $models) % $count < $models")
  cargo run --bin cargo-onnx-embed -- verify "${all[@]}" --at-least "$models"
}

wanted() { [ "$#" = 1 ] || [[ " ${*:2} " = *" $1 "* ]]; }

if wanted scikit-learn "$@"; then
  # Its pipelines without texts: those need a locale that a machine may lack.
  sample scikit-learn 40 scikit_learn 'scikit-learn skl2onnx pandas' --only estimators
fi
if wanted boosters "$@"; then
  sample boosters 12 boosters 'lightgbm xgboost catboost scikit-learn onnxmltools skl2onnx'
fi
if wanted keras "$@"; then
  sample keras 40 keras_layers 'tensorflow-cpu tf2onnx'
fi
if wanted torch-script "$@"; then
  sample torch-script 40 torch_modules 'torch onnxscript' --exporter script
fi
if wanted torch "$@"; then
  sample torch 20 torch_operators 'torch onnxscript expecttest' --dtypes float32 --samples 1 --part 0/8
fi
