"""ONNX Runtime and the reference evaluator, which answer in a process of their own."""

import multiprocessing
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {np.dtype(name).name for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
         .split()} | {"bfloat16", "object"}
SECONDS = 20
# What ONNX Runtime says of a type whose number it no longer knows.
CORRUPT = "No corresponding Numpy type for Tensor Type. float"


class Oracle:
    def __init__(self):
        self.worker = None

    def ask(self, *question):
        answer = self.answer(question)
        if answer[0] == "refused" and CORRUPT in answer[1]:
            # An earlier question made ONNX Runtime write to memory that was not its own.
            self.end()
            answer = self.answer(question)
        return answer

    def answer(self, question):
        if self.worker is None:
            self.pipe, theirs = multiprocessing.Pipe()
            self.worker = multiprocessing.Process(target=oracle, args=(theirs,), daemon=True)
            self.worker.start()
            theirs.close()
        try:
            self.pipe.send(question)
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self.end()
        return "died", "the reference ended or hangs"

    def end(self):
        self.worker.kill()
        self.worker = None


def oracle(pipe):
    """Answers (model bytes, inputs, which) with outputs or the reason why there are none, in a process of its own."""
    import onnxruntime
    from onnx.reference import ReferenceEvaluator
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    loaded = {}
    while True:
        model, inputs, which = pipe.recv()
        key = (model, which)
        try:
            if key not in loaded:
                loaded.clear()
                try:
                    loaded[key] = (onnxruntime.InferenceSession(model, options) if which == "ort" else
                                   ReferenceEvaluator(onnx.load_from_string(model)))
                except Exception as error:
                    loaded[key] = error
            if isinstance(loaded[key], Exception):
                pipe.send(("unloadable", str(loaded[key])[:200]))
                continue
            values = loaded[key].run(None, inputs)
            pipe.send(("values", [plain(value) for value in values]))
        except Exception as error:
            pipe.send(("refused", f"{type(error).__name__}: {str(error)[:200]}"))


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, dict):
        raise TypeError("no tensor")
    value = np.asarray(value)
    if value.dtype.kind in "UT":
        value = value.astype(object)
    if value.dtype.name not in TYPES:
        raise TypeError(f"dtype {value.dtype}")
    return value


def alike(value, recorded):
    """Whether a value is a recorded one but for rounding; True where that is no tensor."""
    try:
        wanted = plain(numpy_helper.to_array(onnx.load_tensor_from_string(recorded)))
    except Exception:
        return True
    if isinstance(value, list) or value.shape != wanted.shape or value.dtype != wanted.dtype:
        return False
    if value.dtype == object:
        texts = lambda array: [text.decode() if isinstance(text, bytes) else str(text) for text in array.reshape(-1)]
        return texts(value) == texts(wanted)
    step = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}.get(value.dtype.name, 0)
    return np.allclose(value.astype(np.float64), wanted.astype(np.float64), step, step, equal_nan=True)
