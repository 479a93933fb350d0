"""Comparison of results."""

import numpy as np

from program import Optional

# Relative tolerance of floats. Expected values of 16 bits are rounded once from single precision.
STEPS = {"float64": 1e-7, "float32": 1e-4, "float16": 2.0**-9, "bfloat16": 2.0**-7}


def difference(found, expected, elementwise):
    """The first difference between two values in words, or `None`. Sums may err by a fraction of the largest element."""
    if isinstance(found, Optional):
        # ONNX Runtime returns the content, the evaluator a list of it.
        text = difference(found.value, expected, elementwise)
        is_list = text and isinstance(expected, list) and len(expected) == 1
        return difference(found.value, expected[0], elementwise) if is_list else text
    if isinstance(expected, list) or isinstance(found, list):
        if not (isinstance(found, list) and isinstance(expected, list)) or len(found) != len(expected):
            return f"{brief(found)}, expected {brief(expected)}"
        texts = (difference(one, other, elementwise) for one, other in zip(found, expected))
        return next((text for text in texts if text), None)
    if isinstance(expected, dict) or isinstance(found, dict):
        return None if str(found) == str(expected) else f"{found}, expected {expected}"
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{brief(found)}, expected {brief(expected)}"
    if expected.dtype == object:
        wrong = np.array([str(one) != text_of(other) for one, other in zip(found.reshape(-1), expected.reshape(-1))], bool)
    elif expected.dtype.name in STEPS:
        wrong = ~near(found.reshape(-1).astype(np.float64), expected.reshape(-1).astype(np.float64),
                      STEPS[expected.dtype.name], elementwise)
    else:
        wrong = found.reshape(-1) != expected.reshape(-1)
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    one, other = found.reshape(-1)[at], expected.reshape(-1)[at]
    return f"{one}, expected {other}, at {at} of {brief(expected)}; {int(wrong.sum())} differ"


def near(found, expected, step, elementwise):
    finite = np.abs(expected[np.isfinite(expected)])
    largest = 0 if elementwise or not finite.size else finite.max()
    with np.errstate(all="ignore"):
        is_near = np.abs(found - expected) <= step * np.abs(expected) + step / 10 * largest + 1e-7
    return (found == expected) | (np.isnan(found) & np.isnan(expected)) | (is_near & np.isfinite(expected) & np.isfinite(found))


def text_of(text):
    return text.decode() if isinstance(text, bytes) else str(text)


def brief(value):
    if isinstance(value, list):
        return f"{len(value)} values"
    if isinstance(value, dict):
        return "a map"
    return f"{'string' if value.dtype == object else value.dtype.name}{list(value.shape)}"


def differences(found, expected, elementwise):
    """The same for outputs by name. `expected` has them all."""
    if set(found) != set(expected):
        return f"outputs {sorted(found)}, expected {sorted(expected)}"
    for name, value in expected.items():
        text = difference(found[name], value, elementwise)
        if text:
            return f"{name}: {text}"
    return None


def bits(found):
    """What two equal answers have in common: text, or the bytes of all elements."""
    if isinstance(found, dict):
        return [(name, bits(value)) for name, value in found.items()]
    if isinstance(found, list):
        return [bits(value) for value in found]
    if isinstance(found, Optional):
        return bits(found.value)
    if isinstance(found, np.ndarray) and found.dtype != object:
        return found.dtype.name, found.shape, found.tobytes()
    return str(found.tolist() if isinstance(found, np.ndarray) else found)
