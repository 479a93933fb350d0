"""Conformance cases as one compressed archive, the same bytes for the same cases."""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto

HERE = Path(__file__).parent


@dataclass
class Case:
    name: str
    model: ModelProto
    inputs: list
    outputs: list
    rtol: float = 1e-3
    atol: float = 1e-7


def files(case):
    """Names and bytes."""
    yield "model.onnx", case.model.SerializeToString(deterministic=True)
    for kind, values in ("input", case.inputs), ("output", case.outputs):
        for at, value in enumerate(values):
            yield f"{kind}_{at}.pb", value.SerializeToString(deterministic=True)
    if (case.rtol, case.atol) != (1e-3, 1e-7):
        yield "tolerance.txt", f"{case.rtol!r} {case.atol!r}\n".encode()


def write(name, cases):
    cases = sorted(cases, key=lambda case: case.name)
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), sorted({n for n in names if names.count(n) > 1})
    path = HERE / name
    with tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for case in cases:
            for file, data in files(case):
                info = tarfile.TarInfo(f"{case.name}/{file}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    print(f"{name}: {len(cases)} cases, {path.stat().st_size / 1e6:.1f} MB")
