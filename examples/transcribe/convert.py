"""Fetches the speech recognition model Moonshine (tiny, English) and converts it to ONNX, into `model/`.

    pip install onnx onnxruntime
    python3 examples/transcribe/convert.py       # downloads the wheel moonshine-voice from PyPI, 56 MB

The model is under the license MIT. The wheel has it in the format of ONNX Runtime, which writes it as ONNX. Weights keep
their 8 bits.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import onnx
import onnxruntime

FOLDER = Path(__file__).resolve().parent / "model"
PACKAGE = "moonshine-voice==0.1.0"
# The models are the same in the wheels of all platforms.
PLATFORM = "manylinux_2_34_x86_64"
ASSETS = "moonshine_voice/assets/"
DIGESTS = {
    "tiny-en/encoder_model.ort": "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
    "tiny-en/decoder_model_merged.ort": "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
    "tiny-en/tokenizer.bin": "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
    "beckett.wav": "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
    "two_cities.wav": "f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e",
}


def main():
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        words = ["--quiet", "--no-deps", "--only-binary=:all:", "--platform", PLATFORM, "--dest", folder, PACKAGE]
        subprocess.run([sys.executable, "-m", "pip", "download", *words], check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name, digest in DIGESTS.items():
                content = archive.read(ASSETS + name)
                if hashlib.sha256(content).hexdigest() != digest:
                    sys.exit(f"{name} of {PACKAGE} has another hash than {digest}")
                path = Path(folder if name.endswith(".ort") else FOLDER, Path(name).name)
                path.write_bytes(content)
        convert(Path(folder, "encoder_model.ort"), FOLDER / "encoder.onnx")
        convert(Path(folder, "decoder_model_merged.ort"), FOLDER / "decoder.onnx")
    for path in sorted(FOLDER.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def convert(source, path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(source, options, ["CPUExecutionProvider"])
    model = onnx.load(path)
    used = {node.domain for graph in graphs(model.graph, path.stem) for node in graph.node}
    imported = [opset for opset in model.opset_import if opset.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(imported)
    onnx.save(model, path)


def graphs(graph, name):
    """Returns a graph and those of its nodes. The format of ONNX Runtime has no names of graphs, ONNX requires them."""
    graph.name = graph.name or name
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g, attribute.name)


if __name__ == "__main__":
    main()
