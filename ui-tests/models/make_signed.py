"""Writes the signed models of the user-interface tests.

Requires the packages `onnx` and `numpy`, and the program `minisign`: `python ui-tests/models/make_signed.py`. The secret
keys are for tests alone and are not kept, so every run replaces all keys and signatures.
"""

import pathlib
import shutil
import subprocess
import tempfile

import make

FOLDER = pathlib.Path(make.__file__).parent / "signed"


def minisign(*arguments):
    subprocess.run(["minisign", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def key(name, secrets):
    secret = secrets / name
    minisign("-G", "-W", "-f", "-p", FOLDER / f"{name}.pub", "-s", secret)
    return secret


def sign(file, secret, *options):
    minisign("-S", "-s", secret, "-m", file, "-t", f"file:{file.name}", *options)


def model(name, weights, data=None):
    """Saves `x + weights`, whose weights are in the file `data` if one is named."""
    text = "signed (float[2] x) => (float[2] y) <float[2] w = {0, 0}> { y = Add (x, w) }"

    def fill(model):
        model.graph.initializer[0].CopyFrom(make.raw("w", weights))
        if data:
            make.write(f"signed/{data}", make.external(model, data))

    make.save(f"signed/{name}", text, fill)
    return FOLDER / f"{name}.onnx"


def main():
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as secrets:
        own, other = (key(name, pathlib.Path(secrets)) for name in ["key", "other"])
        good = model("good", [1, 2])
        sign(good, own)
        sign(model("newer", [3, 4]), own)
        sign(model("stranger", [3, 4]), other)
        sign(model("old_form", [3, 4]), own, "-l")
        # Another weight with the signature of a model.
        forged = model("forged", [1, 3])
        shutil.copy(f"{good}.minisig", f"{forged}.minisig")
        model("unsigned", [3, 4])
        sign(model("external", [1, 2], "external.bin"), own)
        sign(FOLDER / "external.bin", own)
        sign(model("external_unsigned", [1, 2], "unsigned.bin"), own)


if __name__ == "__main__":
    main()
