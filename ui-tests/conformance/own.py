"""Writes own.tar.xz: our own cases, every operator at every version that changed it.

Requires `pip install onnx==1.23.2 onnxruntime`: `python ui-tests/conformance/own.py [family ..]`.
A family is a file of `fixtures/` whose `cases()` yields what `case.node` makes; without names all
families are written, and only such an archive is to be committed.
"""

import importlib
import sys
import warnings

import pack


def cases(families):
    sys.path.insert(0, str(pack.HERE / "fixtures"))
    for family in families or sorted(path.stem for path in (pack.HERE / "fixtures").glob("*.py")):
        yield from importlib.import_module(family).cases()


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    pack.write("own.tar.xz", cases(sys.argv[1:]))
