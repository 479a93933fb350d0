"""A folder of exported models with what ONNX Runtime answers, in the layout that `cargo onnx-embed verify` reads."""

import contextlib
import io
import logging
import shutil
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
onnxruntime.set_default_logger_severity(4)


class Sweep:
    """Writes `FOLDER/NAME/NAME.onnx` and `io.npz` for each case, and a line of `FOLDER/sweep.tsv`: its name, `ok` or
    the step that failed, and why."""

    def __init__(self, folder, packages, log="sweep.tsv"):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = (self.folder / log).open("w")
        self.counts = Counter()
        versions = [f"{package} {version(package)}" for package in (*packages, "onnxruntime")]
        self.note("versions", ", ".join(versions))

    def note(self, name, *columns):
        columns = [" ".join(str(column).split())[:160] for column in columns]
        print(name, *columns, sep="\t", file=self.log, flush=True)

    def failed(self, name, step, reason=""):
        self.counts[step] += 1
        self.note(name, step, reason)

    def case(self, name, export):
        """One model: `export(path)` writes it, or returns its bytes, and gives its inputs by name or in order."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.onnx"
        step = "export"
        try:
            with quiet():
                model, values = export(path)
            if model is not None:
                path.write_bytes(model)
            step = "ONNX Runtime"
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            names = [port.name for port in session.get_inputs()]
            if not isinstance(values, dict):
                if len(names) != len(values):
                    raise ValueError("the exporter has left out inputs")
                values = dict(zip(names, values))
            results = session.run(None, values)
            arrays = {f"in/{key}": plain(value) for key, value in values.items()}
            for port, value in zip(session.get_outputs(), results):
                arrays |= recorded(f"out/{port.name}", value)
            np.savez(folder / "io.npz", **arrays)
        except Exception as error:  # exporters raise anything
            shutil.rmtree(folder)
            self.failed(name, step, f"{type(error).__name__}: {error}")
            return False
        self.counts["ok"] += 1
        self.note(name, "ok")
        return True

    def end(self):
        print(f"{self.folder}:", ", ".join(f"{count} {step}" for step, count in self.counts.items()))


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def recorded(name, value):
    """An output as `verify` reads it: maps with the same keys are two arrays."""
    if isinstance(value, np.ndarray):
        return {name: plain(value)}
    keys = list(value[0])
    rows = [[row[key] for key in keys] for row in value]
    return {f"{name}#keys": np.array(keys), f"{name}#vals": np.array(rows, np.float32)}


def plain(value):
    """An array that numpy stores without pickling."""
    value = np.asarray(value)
    return value.astype(str) if value.dtype == object else value
