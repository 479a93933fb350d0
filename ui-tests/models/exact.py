"""Adds to a recording what the model's graph gives in double precision.

Some models amplify roundings: where activations are quantized by the range of the values at hand, one rounding
moves a scale, which moves every element. Such a model matches, though it differs from the recorded answer, where
it is as near to `exact/NAME` as the recorded answer is. Requires the `onnx` and `numpy` packages:
`python ui-tests/models/exact.py FOLDER ..`, each with a model and its `io.npz`; with `--into FILE RECORDING` the
recording stays as it is, which `verify --exact` uses.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


def along(values, axis, rank):
    """One element, or one for each place along an axis, shaped to broadcast."""
    values = np.asarray(values, np.float64)
    if values.size == 1:
        return values.reshape(())
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def quantized(x, scale, zero, dtype):
    bounds = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, bounds.min, bounds.max).astype(dtype)


class DynamicQuantizeLinear(OpRun):
    op_domain = ""

    def _run(self, x):
        least, most = min(x.min(initial=0.0), 0.0), max(x.max(initial=0.0), 0.0)
        scale = np.float64(most - least) / 255 or np.float64(1)
        zero = np.clip(np.rint(-least / scale), 0, 255)
        return quantized(x, scale, zero, np.uint8), np.asarray(scale), np.asarray(zero, np.uint8)


class DequantizeLinear(OpRun):
    op_domain = ""

    def _run(self, x, scale, zero=None, axis=1, **_):
        zero = 0.0 if zero is None else along(zero, axis, x.ndim)
        return ((x.astype(np.float64) - zero) * along(scale, axis, x.ndim),)


class QuantizeLinear(OpRun):
    op_domain = ""

    def _run(self, x, scale, zero=None, axis=1, **_):
        dtype = np.uint8 if zero is None else zero.dtype
        zero = 0.0 if zero is None else along(zero, axis, x.ndim)
        return (quantized(x, along(scale, axis, x.ndim), zero, dtype),)


class STFT(OpRun):
    """Of real signals, with or without a last axis of 1, which the reference needs."""

    op_domain = ""

    def _run(self, signal, step, window=None, length=None, onesided=1):
        signal = signal[..., 0] if signal.ndim == 3 and signal.shape[2] == 1 else signal
        if signal.ndim != 2 or window is None or length is not None and int(length) != len(window):
            raise ValueError("only windows over real signals are transformed in double precision")
        frames = np.lib.stride_tricks.sliding_window_view(signal.astype(np.float64), len(window), 1)
        frames = frames[:, :: int(step)] * window
        bins = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
        return (np.stack([bins.real, bins.imag], -1),)


def in_doubles(graph):
    """The graph with each float32 in double precision."""
    def widened(tensor):
        if tensor.data_type != TensorProto.FLOAT:
            return tensor
        return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)

    weights = [widened(tensor) for tensor in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if attribute.HasField("t"):
                attribute.t.CopyFrom(widened(attribute.t))
            if attribute.HasField("g"):
                in_doubles(attribute.g)


def exact(path, inputs):
    model = onnx.load(path)
    # The ranges of 16-bit floats and functions of other domains have no meaning in double precision.
    other = {node.domain for node in model.graph.node} - {"", "ai.onnx"}
    if other:
        raise SystemExit(f"{path}: operators of {', '.join(sorted(other))} are not evaluated in double precision")
    in_doubles(model.graph)
    operators = [DynamicQuantizeLinear, DequantizeLinear, QuantizeLinear, STFT]
    run = ReferenceEvaluator(model, new_ops=operators)
    wide = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in inputs.items()}
    return dict(zip([value.name for value in model.graph.output], run.run(None, wide)))


def add(recording, into):
    (path,) = recording.parent.glob("*.onnx")
    arrays = {name: array for name, array in np.load(recording).items() if not name.startswith("exact/")}
    inputs = {name[3:]: array for name, array in arrays.items() if name.startswith("in/")}
    for name, values in exact(path, inputs).items():
        recorded = arrays[f"out/{name}"]
        if values.dtype != np.float64:
            continue
        arrays[f"exact/{name}"] = values
        distance = np.abs(recorded - values).max(initial=0.0) / np.abs(values).max(initial=1e-300)
        print(f"{recording}: `{name}` was recorded {distance:.2e} from its value in double precision")
    with open(into, "wb") as file:
        np.savez(file, **arrays)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--into"]:
        _, into, recording = arguments
        return add(Path(recording), into)
    for folder in map(Path, arguments):
        for recording in sorted(folder.glob("io*.npz")):
            add(recording, recording)


if __name__ == "__main__":
    main()
