"""Writes schemas.txt: every operator of the standard domains and the versions that changed it.

Requires `pip install onnx==1.23.2`: `python ui-tests/conformance/schemas.py`. A version in which an
operator was taken out of the standard is not one.
"""

from collections import defaultdict
from pathlib import Path

from onnx import defs

versions = defaultdict(set)
for schema in defs.get_all_schemas_with_history():
    if not schema.deprecated or schema.name == "GroupNormalization":
        # GroupNormalization 18 is deprecated for its weights, and stays in files.
        versions[schema.domain or "ai.onnx", schema.name].add(schema.since_version)
lines = [f"{domain} {name} {' '.join(map(str, sorted(since)))}\n"
         for (domain, name), since in sorted(versions.items())]
(Path(__file__).parent / "schemas.txt").write_text("".join(lines))
print(len(lines), "operators")
