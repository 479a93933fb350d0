"""Times models of this project beside onnxruntime-web in one browser, both on WebGPU, and writes a table of BENCHMARKS.md.

    python ui-tests/bench/web.py [--write | --profile] [--rounds 5] [--no-fusion] [id..]

Needs onnx and numpy, cargo with a standard library for wasm32, npm, Chromium and `wasm-bindgen` of the version in
Cargo.lock (`--bindgen`). Each model has a page of its own, on which both engines have it loaded and take turns.
"""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import onnx

import engines
import web_page
import web_table
from bench import Model
from engines import HERE, ROOT

HOME = HERE / "web"
TARGET = engines.TARGET / "web"
PLACE = "web"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=1.0, help="of each engine in each round")
    arguments.add_argument("--no-fusion", action="store_true", help="without the feature `fusion`")
    arguments.add_argument("--profile", action="store_true", help="print the times of kernels instead")
    arguments.add_argument("--bindgen", default="wasm-bindgen", metavar="PROGRAM")
    arguments.add_argument("--browser", default="chromium", metavar="PROGRAM")
    arguments.add_argument("--fetched", type=Path, default=engines.TARGET.parent / "models", metavar="FOLDER")
    arguments.add_argument("--recorded", type=Path, default=ROOT / "../shared/models", metavar="FOLDER")
    arguments.add_argument("--results", type=Path, default=TARGET / "results.json", metavar="FILE")
    arguments.add_argument("--write", action="store_true", help="write the table into BENCHMARKS.md")
    arguments.add_argument("ids", nargs="*", help="only these models")
    options = arguments.parse_args()

    entries = tomllib.loads((HOME / "models.toml").read_text())["models"]
    models = [Model(entry, options.fetched, options.recorded) for entry in entries]
    for model in models:
        if not model.path.is_file():
            print(f"skipped: {model.path} is not there", file=sys.stderr)
    models = [model for model in models if model.path.is_file()]
    package = build(models, not options.no_fusion, options.bindgen)
    peer = engines.install_web()

    rows = []
    for model in models:
        if options.ids and model.id not in options.ids:
            continue
        query = {"model": model.id, "rounds": options.rounds, "seconds": options.seconds}
        if options.profile:
            query["profile"] = 1
        folders = {"": HOME, "package": package, "peer": peer, "model": model.path.parent}
        result = web_page.visit(options.browser, folders, inputs(model), query)
        if options.profile:
            print(web_table.profile(model, result))
            continue
        rows.append({"model": model.name, "kind": model.kind, **result})
        print(web_table.line(rows[-1]), flush=True)
    if options.profile:
        return
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(rows, indent=1))
    print(web_table.table(rows))
    if options.write:
        web_table.into(ROOT / "BENCHMARKS.md", PLACE, rows)


def inputs(model):
    """Arrays by name in the order of the file."""
    shapes = model.entry.get("shapes", {})
    recorded = model.recorded_inputs()
    graph = onnx.load(str(model.path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in constants]
    return {name: web_page.resized(recorded[name], shapes.get(name)) for name in names}


def build(models, fusion, bindgen):
    """The folder of the module for browsers that has all models."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    version = next(package["version"] for package in lock if package["name"] == "wasm-bindgen")
    folder = TARGET / "ours"
    words = {"ROOT": ROOT, "BINDGEN": version}
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for source, to in (("Cargo.toml.in", "Cargo.toml"), ("lib.rs.in", "src/lib.rs")):
        text = (HOME / source).read_text()
        for word, value in words.items():
            text = text.replace(f"@{word}@", str(value))
        engines.write(folder / to, text)
    engines.write(folder / "src/models.rs", sources(models))
    engines.write(folder / "Cargo.lock", (ROOT / "Cargo.lock").read_text(), unless_there=True)
    words = ["build", "--release", "--target", "wasm32-unknown-unknown", *os.environ.get("CARGO_WORDS", "").split()]
    words += ["--features", "fusion"] if fusion else []
    target = TARGET / "target"
    done = subprocess.run(["cargo", *words], cwd=folder, env=os.environ | {"CARGO_TARGET_DIR": str(target)})
    if done.returncode:
        sys.exit("the models were not built")
    package = TARGET / ("fusion" if fusion else "plain")
    module = target / "wasm32-unknown-unknown/release/bench_web.wasm"
    words = ["--target", "web", "--remove-name-section", "--out-dir", package, module]
    subprocess.run([bindgen, *words], check=True)
    return package


def sources(models):
    """A module of Rust for each model, and the function that loads them by their ids."""
    modules, arms = [], []
    for model in models:
        name = model.id.lower()
        modules.append(
            f"mod {name} {{\n"
            "    use super::*;\n"
            f'    onnx_embed::onnx_model!("{model.path}");\n\n'
            "    pub fn load(file: &[u8], device: &Device) -> Result<Forward, Error> {\n"
            "        let model = Model::from_bytes(file, device)?;\n"
            "        Ok(Rc::new(move |inputs| {\n"
            "            let read = Transaction::default();\n"
            f"            finish({{ {model.entry['outputs']} }})\n"
            "        }))\n"
            "    }\n"
            "}\n"
        )
        arms.append(f'        "{model.id}" => {name}::load(file, device),\n')
    head = (
        "use std::rc::Rc;\n\nuse onnx_embed::burn::tensor::Transaction;\nuse onnx_embed::{Device, Error};\n\n"
        "use super::{Forward, finish};\n\n"
        "pub fn load(id: &str, file: &[u8], device: &Device) -> Result<Forward, Error> {\n    match id {\n"
        + "".join(arms)
        + '        _ => panic!("there is no model {id}"),\n    }\n}\n\n'
    )
    return head + "\n".join(modules)


if __name__ == "__main__":
    main()
