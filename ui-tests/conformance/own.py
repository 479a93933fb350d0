"""Writes own/ROOM.tar.xz: our own cases, every operator at every version that changed it.

Requires `pip install onnx==1.23.2 onnxruntime`: `python ui-tests/conformance/own.py [room | room/file ..]`.
A family of operators is a file `fixtures/room/file.py`, whose `cases()` yields what `case.node` makes;
without names the archives of all rooms are written. An archive of some files of a room is only for a trial.
"""

import itertools
import sys
import warnings

import fixtures
import pack


def room(family):
    return family.split("/")[0]


def write(rooms_and_files):
    for name, families in itertools.groupby(fixtures.families(rooms_and_files), room):
        pack.write(f"own/{name}.tar.xz", (case for family in families for case in fixtures.cases(family)))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    write(sys.argv[1:])
