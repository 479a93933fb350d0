"""Tensors in files as `protocol` reads and writes them."""

import json

import numpy


def write(path, arrays):
    entries, parts = [], []
    for name, array in arrays.items():
        # `ascontiguousarray` makes an axis of a scalar.
        data = numpy.asarray(array).tobytes()
        shape = list(numpy.shape(array))
        entries.append({"name": name, "dtype": str(array.dtype), "shape": shape, "bytes": len(data)})
        parts.append(data)
    with open(path, "wb") as file:
        file.write(json.dumps(entries).encode() + b"\n" + b"".join(parts))


def read(path):
    with open(path, "rb") as file:
        entries = json.loads(file.readline())
        return {
            entry["name"]: numpy.frombuffer(file.read(entry["bytes"]), entry["dtype"]).reshape(entry["shape"])
            for entry in entries
        }


def distance(one, other):
    """The largest difference of outputs as a share of the largest element, of all that have the same names."""
    worst = 0.0
    for name, wanted in other.items():
        if name not in one or one[name].size != wanted.size:
            return float("inf")
        found = one[name].astype(numpy.float64).ravel()
        wanted = wanted.astype(numpy.float64).ravel()
        same = (found == wanted) | (numpy.isnan(found) & numpy.isnan(wanted))
        difference = numpy.where(same, 0.0, numpy.abs(found - wanted))
        largest = numpy.max(numpy.abs(wanted), where=numpy.isfinite(wanted), initial=0.0)
        if difference.size and numpy.max(difference) > 0.0:
            worst = max(worst, float(numpy.max(difference)) / largest if largest else float("inf"))
    return worst
