"""Writes ir/src/operands/types.txt: the types of the inputs and outputs of every version of the operators.

A line is an operator, a version, the inputs, `>`, the outputs and, after `|`, the types of type variables. An operand is a name
and a type variable (`A:T`) or its types (`shape=int64`), and ends in `*` if it is variadic, or in `~` if each of its
operands may be of another type. Types are element types and groups of `GROUPS`, joined by `+`. Commas separate types of other
containers, which begin with `seq:`, `optional:`, `optional:seq:`, `map:int64:` or the like. A version with the operands of the
version before has no line.

Requires `pip install onnx==1.23.2 onnxruntime==1.32.0`: `python ui-tests/conformance/operand_types.py`. Of com.microsoft, whose
operators are those of ONNX Runtime, there are those that have a row in `ir/src/ops`.
"""

import re
from pathlib import Path

from onnx import defs
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

ROOT = Path(__file__).resolve().parents[2]

# Groups of element types, as in `ir/src/operands/signature.rs`.
GROUPS = {
    "floats": "float16 float32 float64",
    "ints": "int8 int16 int32 int64",
    "uints": "uint8 uint16 uint32 uint64",
    "float8": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz",
    "complex": "complex64 complex128",
}
SINGLE = "bool string bfloat16 float8e8m0 float4e2m1 int4 uint4 int2 uint2".split()
ELEMENTS = {name for group in GROUPS.values() for name in group.split()} | set(SINGLE)
# Element types that the compiler does not read.
UNKNOWN = {"float6e2m3", "float6e3m2"}
ONNX_NAMES = {"float": "float32", "double": "float64"}


def parts(name):
    """The container and the element type of a type such as `seq(tensor(float))`."""
    container = ""
    while (found := re.fullmatch(r"(seq|optional|map|tensor)\((?:(\w+), *)?(.*)\)", name)) is not None:
        kind, key, name = found.groups()
        container += "" if kind == "tensor" else f"{kind}:" if key is None else f"map:{key}:"
    return container, ONNX_NAMES.get(name, name)


def types(names):
    containers = {}
    for name in names:
        container, element = parts(name)
        if element not in UNKNOWN:
            assert element in ELEMENTS, name
            containers.setdefault(container, set()).add(element)
    return ",".join(container + joined(elements) for container, elements in sorted(containers.items()))


def joined(elements):
    words = []
    for group, members in GROUPS.items():
        if elements >= set(members.split()):
            elements = elements - set(members.split())
            words.append(group)
    return "+".join([*words, *sorted(elements)])


def operands(formals, variables):
    words = []
    for formal in formals:
        ty = getattr(formal, "type_str", None) or formal.typeStr
        homogeneous = formal.is_homogeneous if hasattr(formal, "is_homogeneous") else formal.isHomogeneous
        ty = f":{ty}" if ty in variables else f"={types([ty])}"
        many = "" if str(formal.option).rsplit(".", 1)[-1] != "Variadic" else "*" if homogeneous else "~"
        name = formal.name.strip(".")
        assert re.fullmatch(r"\w+", name), name
        words.append(f"{name}{ty}{many}")
    return words


def content(schema):
    constraints = {c.type_param_str: types(c.allowed_type_strs) for c in schema.type_constraints}
    words = [*operands(schema.inputs, constraints), ">", *operands(schema.outputs, constraints)]
    used = {word.split(":", 1)[1].rstrip("*~") for word in words if ":" in word.split("=")[0]}
    words += ["|", *(f"{name}={types}" for name, types in constraints.items() if name in used)] if used else []
    return " ".join(words)


def main():
    sources = "\n".join(path.read_text() for path in (ROOT / "ir/src/ops").rglob("*.rs"))
    rows = re.split(r"\brow\(\s*", sources)[1:]
    ours = {row.split('"')[1] for row in rows if row.startswith('"') and ".of(MICROSOFT)" in row}
    others = [s for s in get_all_operator_schema() if s.domain == "com.microsoft" and s.name in ours]
    lines, last = [], {}
    for schema in sorted([*defs.get_all_schemas_with_history(), *others], key=lambda s: (s.domain, s.name, s.since_version)):
        kind = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        # GroupNormalization 18 is deprecated for its weights, and remains in files.
        if not schema.deprecated or schema.name == "GroupNormalization":
            written = content(schema)
            if last.get(kind) != written:
                lines.append((kind, schema.since_version, f"{kind} {schema.since_version} {written}\n"))
            last[kind] = written
    path = ROOT / "ir/src/operands/types.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(line for _, _, line in sorted(lines)))
    print(len(lines), "lines in", path.name)


if __name__ == "__main__":
    main()
