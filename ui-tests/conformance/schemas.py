"""Writes schemas.txt and schemas_microsoft.txt: every version of every operator, with what a node may have.

A line is a domain, a name and a version, then `deprecated` or a sign for each input, a sign for each output (`r`
required, `o` optional, `+` one or more, `*` any number, and `-` alone for none) and the attributes with their types,
`!` after a required one.

Requires `pip install onnx==1.23.2 onnxruntime==1.32.0`: `python ui-tests/conformance/schemas.py`. The operators of
com.microsoft are those of ONNX Runtime.
"""

from pathlib import Path

from onnx import defs
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema


def name_of(member):
    return str(member).rsplit(".", 1)[-1]


def signs(formals, least):
    variadic = "+" if least >= len(formals) else "*"
    sign = {"Single": "r", "Optional": "o", "Variadic": variadic}
    return "".join(sign[name_of(formal.option)] for formal in formals) or "-"


def line(schema):
    words = [schema.domain or "ai.onnx", schema.name, str(schema.since_version)]
    if schema.deprecated and schema.name != "GroupNormalization":
        # GroupNormalization 18 is deprecated for its weights, and remains in files.
        return " ".join([*words, "deprecated"])
    words += [signs(schema.inputs, schema.min_input), signs(schema.outputs, schema.min_output)]
    for name, attribute in sorted(schema.attributes.items()):
        required = "!" if attribute.required else ""
        words.append(f"{name}:{name_of(attribute.type).lower()}{required}")
    return " ".join(words)


def write(file, schemas):
    schemas = sorted(schemas, key=lambda schema: (schema.domain or "ai.onnx", schema.name, schema.since_version))
    (Path(__file__).parent / file).write_text("".join(line(schema) + "\n" for schema in schemas))
    print(len(schemas), "versions in", file)


write("schemas.txt", defs.get_all_schemas_with_history())
write("schemas_microsoft.txt", [s for s in get_all_operator_schema() if s.domain == "com.microsoft"])
