"""Draws models, and asks the references for their results."""

import re
import zlib

import numpy as np
from onnx import defs

from drawing import Draw, newest_opset, opset
from forms import Sample, widened
from mutated import Cases, mutated
from program import ROOT
from references import Oracle
from specs import SPECS

# Versions that no reference has, with one that computes the same, and attributes that this one lacks.
LIKE = {("BatchNormalization", 1): 6, ("Clip", 1): 6, ("Dropout", 1): 7, ("Dropout", 6): 7, ("Gemm", 1): 6,
        ("GlobalLpPool", 22): 2, ("GRU", 1): 7, ("LSTM", 1): 7, ("MaxRoiPool", 22): 1, ("RNN", 1): 7, ("Split", 1): 2}
LACKING = {"consumed_inputs", "is_test", "output_sequence"}
# Files of operators that add nothing up.
EXACT = {"specs.elementwise", "specs.index", "specs.shape", "specs.text"}
# Draws that no reference computes, before a version is given up.
TRIES = 12


def supported():
    """Versions of each operator in OPERATORS.md, by domain and name."""
    found, domain = {}, None
    for line in (ROOT / "OPERATORS.md").read_text().splitlines():
        if line.startswith("## "):
            domain = line[3:].strip()
        row = re.match(r"\| (\w+) \| ([\d, ]+) \|", line)
        if row and domain:
            found["" if domain == "ai.onnx" else domain, row[1]] = [int(version) for version in row[2].split(", ")]
    return found


def schemas():
    """Schemas by domain, name and version."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    every = [*get_all_operator_schema(), *defs.get_all_schemas_with_history()]
    return {(schema.domain, schema.name, schema.since_version): schema for schema in every}


class Generator:
    """Models of a seed, in both forms or, if it is short, in one of them."""

    def __init__(self, seed, is_short=False):
        self.seed, self.is_short, self.redrawn = seed, is_short, 0
        self.schemas, self.versions, self.oracle = schemas(), supported(), Oracle()
        self.cases = None

    def conformance_cases(self):
        if self.cases is None:
            def version_of(operator, number):
                known = [version for version in self.versions.get(operator, ()) if version <= number]
                return max(known, default=None)
            self.cases = Cases(version_of)
        return self.cases

    def drawn(self, operator, version, at, tries=0):
        """A model with inputs, or `None` if there is no conformance case to begin with."""
        domain, name = operator
        schema = self.schemas[domain, name, version]
        key = zlib.crc32(f"{self.seed} {domain} {name} {version} {at} {tries}".encode())
        d = Draw(key, schema)
        spec = SPECS.get(f"{domain}:{name}" if domain else name)
        if spec is not None:
            inputs, attributes, *outputs = spec(d)
            outputs = outputs[0] if outputs else 1
        else:
            cases = self.conformance_cases().of(operator, version)
            if not cases:
                return None
            inputs, attributes, outputs = mutated(d, cases)
        newest = newest_opset() if not domain else version
        number = opset(d, domain, schema, self.versions[operator], newest)
        label = f"{domain.replace('.', '_')}_{name}_{version}_{at}".lstrip("_")
        elementwise = getattr(spec, "__module__", "") in EXACT
        sample = Sample(label, schema, number, inputs, attributes, outputs, elementwise)
        free = {name for name, value in sample.inputs.items() if id(value) in d.free}
        sample.runs = [sample.inputs]
        for _ in range(2 if free else 0):
            sample.runs.append({name: d.with_specials(d.plain(value.dtype, value.shape)) if name in free else value
                                for name, value in sample.inputs.items()})
        names = list(sample.inputs)
        sample.constants = [name for name in names if d.chance(0.6)] or names[-1:]
        if d.chance(0.3):
            sample.constants = names
        sample.constants = [name for name in sample.constants if not isinstance(sample.inputs[name], list)]
        sample.open = d.may_open and d.chance(0.4)
        sample.forms = ["inputs", "constants"] if sample.constants else ["inputs"]
        if self.is_short:
            sample.forms = [d.pick(sample.forms)]
        return sample

    def sample(self, operator, version, at):
        """A model that at least one reference computes, with the answers of the references."""
        problem = "no conformance case"
        for tries in range(TRIES):
            self.redrawn += tries > 0
            try:
                sample = self.drawn(operator, version, at, tries)
                if sample is None:
                    break
                sample.answers = [self.answers(sample, inputs) for inputs in sample.runs]
                known = next((values for kind, values in sample.answers[0].values() if kind == "values"), None)
                if known is None:
                    problem = str(sample.answers[0])
                    continue
                sample.infer(known)
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:300]}"
                continue
            return sample
        return problem

    def answers(self, sample, inputs):
        """What each reference answers, by its name: `values` and outputs, or another kind and a text."""
        wide = sample.single()
        if wide is not None:
            given = {name: widened(value) for name, value in inputs.items()}
            kinds = {"ort": self.ask(wide, given, "ort"), "evaluator": self.ask(wide, given, "reference")}
            with np.errstate(all="ignore"):
                return {who: (kind, sample.rounded(values) if kind == "values" else values)
                        for who, (kind, values) in kinds.items()}
        return {"ort": self.ask(sample, inputs, "ort"), "evaluator": self.ask(sample, inputs, "reference")}

    def ask(self, sample, inputs, who):
        model = sample.model(inputs)
        like = LIKE.get((sample.schema.name, sample.schema.since_version))
        if like is not None and not sample.schema.domain:
            model.opset_import[0].version = like
            kept = [one for one in model.graph.node[0].attribute if one.name not in LACKING or
                    one.name == "is_test" and sample.schema.name == "BatchNormalization"]
            del model.graph.node[0].attribute[:]
            model.graph.node[0].attribute.extend(kept)
        return self.oracle.ask(model.SerializeToString(deterministic=True), inputs, who)
