"""PyTorch's table of conversions, made once.

`torch.onnx.export` parses the source of all conversions in each call: 0.8 s of the 1.3 s that a small export takes.
"""

import functools

from torch.onnx._internal.exporter import _registration


def keep():
    registry = _registration.ONNXRegistry
    registry.from_torchlib = staticmethod(functools.cache(registry.from_torchlib))
