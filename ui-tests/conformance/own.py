"""Writes own.tar.xz: our own cases, every operator at every version that changed it.

Requires `pip install onnx==1.23.2 onnxruntime`: `python ui-tests/conformance/own.py [room | room/file ..]`.
A family of operators is a file `fixtures/room/file.py`, whose `cases()` yields what `case.node` makes;
without names all families are written, and only such an archive is to be committed.
"""

import sys
import warnings

import fixtures
import pack


def cases(rooms_and_files):
    for family in fixtures.families(rooms_and_files):
        yield from fixtures.cases(family)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    pack.write("own.tar.xz", cases(sys.argv[1:]))
