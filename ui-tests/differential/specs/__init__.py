"""How models of each operator are drawn.

A function takes a `Draw` and returns the inputs in order, `None` for one left out, the attributes, and the number of outputs
(one, if it returns only two values). Operators without a function are drawn from the conformance cases (`cases.py`).
"""

import importlib
import pkgutil

SPECS = {}


def of(*operators):
    """Registers a function for operators, written `domain:name` outside of ai.onnx."""
    def register(function):
        for operator in operators:
            assert operator not in SPECS, operator
            SPECS[operator] = function
        return function
    return register


def load():
    """Imports all files, which register their functions."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
