"""Operators of PyTorch's own test database through its exporter.

    python torch_operators.py FOLDER [--dtypes float32 int64 ..] [--samples 2] [--part 0/1]

Requires torch, expecttest, onnxscript and onnxruntime. With `--part 0/4` to `3/4` four processes share the work.
"""

import argparse
import itertools

import torch
import torch_registry
from sweep import Sweep
from torch.testing._internal.common_methods_invocations import op_db

# Random results, and values that ONNX does not have.
LEFT_OUT = (
    "rand", "dropout", "bernoulli", "multinomial", "normal", "cauchy", "exponential", "geometric", "log_normal",
    "uniform", "empty", "sparse", "jiterator",
)
# Two exports that fail are enough for an operator.
FAILURES = 2
TRIED = 8


class Call(torch.nn.Module):
    """One call of an operator, whose tensors are inputs."""

    def __init__(self, sample, op, places):
        super().__init__()
        self.op, self.places = op, places
        self.arguments, self.options = [sample.input, *sample.args], sample.kwargs

    def forward(self, *tensors):
        arguments = list(self.arguments)
        for place, tensor in zip(self.places, tensors):
            arguments[place] = tensor
        return self.op(*arguments, **self.options)


def call(sample, op):
    """The module and its inputs, or None where there is nothing to compare."""
    arguments = [sample.input, *sample.args]
    places = [at for at, value in enumerate(arguments) if isinstance(value, torch.Tensor)]
    tensors = [arguments[place] for place in places]
    if not places or any(tensor.numel() == 0 or tensor.is_complex() for tensor in tensors):
        return None
    return Call(sample, op, places).eval(), tuple(tensor.detach().clone() for tensor in tensors)


def export(module, tensors):
    def write(path):
        with torch.no_grad():
            torch.onnx.export(module, tensors, path, dynamo=True, external_data=False, verbose=False)
        return None, [tensor.numpy() for tensor in tensors]

    return write


def operator(sweep, op, dtype, samples):
    name = "_".join(filter(None, (op.name, op.variant_test_name)))
    name = name.replace(".", "_").replace("-", "_").lower()
    if any(word in name for word in LEFT_OUT) or dtype not in op.supported_dtypes("cpu"):
        return
    short = str(dtype).removeprefix("torch.")
    try:
        found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), TRIED))
    except Exception as error:
        sweep.failed(f"{name}_{short}", "sample", error)
        return
    passed = failed = 0
    for at, sample in enumerate(found):
        made = call(sample, op.op)
        if made is None:
            continue
        if sweep.case(f"{name}_{short}_{at}", export(*made)):
            passed += 1
        else:
            failed += 1
        if passed >= samples or failed >= FAILURES:
            break


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--dtypes", nargs="+", default=["float32", "int64", "bool"])
    arguments.add_argument("--samples", type=int, default=2)
    arguments.add_argument("--part", default="0/1")
    arguments = arguments.parse_args()
    torch_registry.keep()
    part, parts = map(int, arguments.part.split("/"))
    sweep = Sweep(arguments.folder, ["torch", "onnxscript"], f"sweep{part}.tsv")
    for dtype in arguments.dtypes:
        for at, op in enumerate(op_db):
            if at % parts == part:
                operator(sweep, op, getattr(torch, dtype), arguments.samples)
    sweep.end()


if __name__ == "__main__":
    main()
