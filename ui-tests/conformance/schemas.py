"""Writes schemas.txt: every operator of the standard domains and the versions that changed it, each with
the most inputs and outputs that a node may have, `*` where that is any number.

Requires `pip install onnx==1.23.2`: `python ui-tests/conformance/schemas.py`. A version in which an
operator was taken out of the standard is not one.
"""

from collections import defaultdict
from pathlib import Path

from onnx import defs

versions = defaultdict(dict)


def most(count):
    return "*" if count == 2**31 - 1 else count


for schema in defs.get_all_schemas_with_history():
    if not schema.deprecated or schema.name == "GroupNormalization":
        # GroupNormalization 18 is deprecated for its weights, and stays in files.
        arity = f"{most(schema.max_input)}:{most(schema.max_output)}"
        versions[schema.domain or "ai.onnx", schema.name][schema.since_version] = arity
lines = [f"{domain} {name} {' '.join(f'{since}:{arity}' for since, arity in sorted(versions.items()))}\n"
         for (domain, name), versions in sorted(versions.items())]
(Path(__file__).parent / "schemas.txt").write_text("".join(lines))
print(len(lines), "operators")
