"""Writes package.tar.xz: models of the `onnx` package beside its node cases.

Small models, and classifiers with made-up weights whose graphs differ in kind. Requires
`pip install onnx==1.23.2`: `python ui-tests/conformance/package.py`. With the argument `all` come the
other classifiers, and what PyTorch exported, which repeat these; such an archive is not to be committed.
"""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import pack

CLASSIFIERS = "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet"
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


def cases(every):
    for family in ("simple", "pytorch-operator", "pytorch-converted") if every else ("simple",):
        for folder in sorted((DATA / family).iterdir()):
            data = folder / "test_data_set_0"
            model = Recorded((folder / "model.onnx").read_bytes())
            yield pack.Case(f"package_{folder.name}", model, recorded("input_*.pb", data), recorded("output_*.pb", data))
    for path in sorted((DATA / "light").glob("*.onnx")):
        if not every and path.stem.removeprefix("light_") not in CLASSIFIERS:
            continue
        model = onnx.load(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [numpy_helper.from_array(Runner.generate_dummy_data(info, seed=0, name=path.stem, random=False))
                  for info in model.graph.input if info.name not in constants]
        yield pack.Case(f"package_{path.stem}", Recorded(path.read_bytes()), inputs,
                        recorded(f"{path.stem}_output_*.pb", path.parent))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    pack.write("package.tar.xz", cases("all" in sys.argv[1:]))
