"""Writes package.tar.xz: the models of the `onnx` package beside its node cases.

Small models, operators and layers that PyTorch exported, and classifiers with constant weights.
Requires `pip install onnx==1.23.2`: `python ui-tests/conformance/package.py`.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import pack

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


@dataclass
class Recorded:
    """Bytes as the package has them."""

    data: bytes

    def SerializeToString(self, deterministic=True):
        return self.data


def recorded(pattern, folder):
    files = sorted(folder.glob(pattern), key=lambda path: int(path.stem.rpartition("_")[2]))
    return [Recorded(path.read_bytes()) for path in files]


def cases():
    for family in "simple", "pytorch-operator", "pytorch-converted":
        for folder in sorted((DATA / family).iterdir()):
            data = folder / "test_data_set_0"
            model = Recorded((folder / "model.onnx").read_bytes())
            yield pack.Case(f"package_{folder.name}", model, recorded("input_*.pb", data), recorded("output_*.pb", data))
    for path in sorted((DATA / "light").glob("*.onnx")):
        model = onnx.load(path)
        held = {tensor.name for tensor in model.graph.initializer}
        inputs = [numpy_helper.from_array(Runner.generate_dummy_data(info, seed=0, name=path.stem, random=False))
                  for info in model.graph.input if info.name not in held]
        yield pack.Case(f"package_{path.stem}", Recorded(path.read_bytes()), inputs,
                        recorded(f"{path.stem}_output_*.pb", path.parent))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    pack.write("package.tar.xz", cases())
