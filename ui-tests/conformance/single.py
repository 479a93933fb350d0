"""What a reference gives in single precision, rounded once."""

import numpy as np

from case import model
from onnx import helper, numpy_helper


def in_single(op, version, outputs=("y",), attributes=None):
    """For `node(by=...)`: halves are computed as floats."""
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

