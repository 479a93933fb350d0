"""What a reference gives in single precision, rounded once."""

import numpy as np
from onnx import helper, numpy_helper

from case import model, node
from values import FLOATS

def in_single(op, version, outputs=("y",), attributes=None):
    """For `node(by=...)`: floats of 16 bits are computed in single precision."""
    def run(*values):
        wide = {f"i{at}": None if value is None else
                value if np.issubdtype(value.dtype, np.integer) else value.astype(np.float32)
                for at, value in enumerate(values)}
        names = [name if value is not None else "" for name, value in wide.items()]
        one = helper.make_node(op, names, list(outputs), **(attributes or {}))
        case = model("single", [one], version, wide, outputs=list(outputs))
        results = [numpy_helper.to_array(value) for value in case.outputs]
        dtype = values[0].dtype
        results = [value.astype(dtype) if value.dtype == np.float32 else value for value in results]
        return results if len(results) > 1 else results[0]
    return run


def each_type(op, version, inputs, kinds, attributes=None, double=None):
    """The same inputs in the other float types of the version; `double` computes float64 where no reference does."""
    def to(dtype):
        return {key: value.astype(dtype) if value is not None and value.dtype == np.float32 else value
                for key, value in inputs.items()}
    for kind in kinds:
        if kind == "float64":
            yield node(op, version, to(np.float64), attributes=attributes, what=kind, by=double)
        else:
            # No reference has the type, or it rounds every intermediate result.
            yield node(op, version, to(FLOATS[kind]), attributes=attributes, what=kind,
                       by=in_single(op, version, attributes=attributes))
