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


class DynamicQuantizeLSTM(OpRun):
    """With the default functions; each product quantizes what it multiplies."""

    op_domain = "com.microsoft"

    def _run(self, x, w, r, bias=None, lengths=None, hidden=None, cell=None, peepholes=None, *quantization, **options):
        others = [name for name, value in options.items() if value and name not in ("direction", "hidden_size")]
        if others or lengths is not None or peepholes is not None:
            raise ValueError("only plain walks over whole sequences are evaluated in double precision")
        directions = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}[options.get("direction") or "forward"]
        times, batch, _ = x.shape
        width = options["hidden_size"]
        zeros = np.zeros((len(directions), batch, width))
        states = [zeros if state is None else np.asarray(state, np.float64) for state in (hidden, cell)]
        bias = np.zeros((len(directions), 8 * width)) if bias is None else bias
        y = np.zeros((times, len(directions), batch, width))
        lasts = []
        for index, step in enumerate(directions):
            ws, wz, rs, rz = (factor[index].astype(np.float64) for factor in quantization)
            inputs = dynamic_product(x.reshape(times * batch, -1), w[index], ws, wz).reshape(times, batch, -1)
            h, c = (state[index] for state in states)
            for time in range(times)[::step]:
                gates = inputs[time] + dynamic_product(h, r[index], rs, rz)
                gates = gates + bias[index, : 4 * width] + bias[index, 4 * width :]
                entry, out, forget, candidate = np.split(gates, 4, axis=1)
                c = sigmoid(forget) * c + sigmoid(entry) * np.tanh(candidate)
                h = sigmoid(out) * np.tanh(c)
                y[time, index] = h
            lasts.append((h, c))
        return y, *(np.stack(last) for last in zip(*lasts))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def dynamic_product(x, weight, scale, zero):
    """By the integers of a matrix that quantizes what it multiplies by the range of that."""
    levels, step, middle = DynamicQuantizeLinear._run(None, x)
    return (levels.astype(np.float64) - middle) @ (weight.astype(np.float64) - zero) * (step * scale)


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


# Attributes that name the element type of a result.
DTYPES = ("to", "dtype", "output_datatype")


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
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
        for attribute in node.attribute:
            if attribute.name in DTYPES and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                values = np.array(helper.get_attribute_value(attribute), np.float64)
                attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(values)))
            if attribute.HasField("t"):
                attribute.t.CopyFrom(widened(attribute.t))
            if attribute.HasField("g"):
                in_doubles(attribute.g)


def exact(path, inputs):
    model = onnx.load(path)
    operators = [DynamicQuantizeLinear, DynamicQuantizeLSTM, DequantizeLinear, QuantizeLinear, STFT]
    # The ranges of 16-bit floats and other functions of other domains have no meaning in double precision.
    known = {f"{operator.op_domain}.{operator.__name__}" for operator in operators}
    other = {f"{node.domain}.{node.op_type}" for node in model.graph.node if node.domain not in ("", "ai.onnx")}
    other -= known
    if other:
        raise SystemExit(f"{path}: {', '.join(sorted(other))} cannot be evaluated in double precision")
    in_doubles(model.graph)
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
