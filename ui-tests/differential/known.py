"""Known differences, and the report of a run."""

import collections
import re


class Report:
    """Counts what was drawn, and prints differences that `expected.tsv` does not list.

    A line of the file has five columns: a regular expression of the whole operator and version (`Add 14`), the kind, regular
    expressions that are searched in the model's text and in the problem, and the reason. README.md lists the kinds.
    """

    def __init__(self, path, is_whole):
        self.entries, self.is_whole = [], is_whole
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line and not line.startswith("#"):
                operator, kind, model, problem, reason = line.split("\t")
                self.entries.append((number, operator, kind, model, problem, reason))
        self.occurred, self.counts, self.operators, self.versions = set(), collections.Counter(), set(), set()
        self.shown, self.by_reference = collections.Counter(), collections.Counter()

    def explained(self, operator, kind, model, problem):
        """Whether an entry lists a difference. All that do have occurred."""
        numbers = {number for number, pattern, of, models, problems, _ in self.entries
                   if re.fullmatch(pattern, operator) and re.fullmatch(of, kind) and re.search(models, model)
                   and re.search(problems, problem)}
        self.occurred |= numbers
        return bool(numbers)

    def drawn(self, operator, version, sample):
        self.operators.add(operator)
        self.versions.add((operator, version))
        self.counts["models"] += 1
        self.counts["runs"] += len(sample.runs)
        who = [name for name, (kind, _) in sample.answers[0].items() if kind == "values"]
        self.by_reference[" and ".join(who)] += 1

    def undrawn(self, operator, version, problem):
        name = f"{':'.join(filter(None, operator))} {version}"
        self.counts["undrawn"] += 1
        if not self.explained(name, "undrawn", "", problem):
            self.counts["unexplained"] += 1
            self.show(name, "undrawn", "", problem)

    def difference(self, sample, form, setting, kind, problem):
        name = f"{sample.operator()} {sample.schema.since_version}"
        self.counts[kind] += 1
        model = f"{form} {setting} {sample.label()}"
        if self.explained(name, kind, model, problem):
            self.counts["explained"] += 1
            return
        self.counts["unexplained"] += 1
        self.show(name, kind, f"{sample.name} {model}", problem)

    def show(self, name, kind, model, problem):
        self.shown[name, kind] += 1
        if self.shown[name, kind] <= 3:
            print(f"{kind}\t{name}\t{model}\n\t{' '.join(problem.split())[:600]}", flush=True)

    def finish(self):
        """Prints the sums. Returns the exit code."""
        stale = [entry for entry in self.entries if entry[0] not in self.occurred] if self.is_whole else []
        for number, *entry in stale:
            print(f"expected.tsv:{number}: did not occur: {entry[0]}: {entry[-1]}")
        print(f"{len(self.operators)} operators, {len(self.versions)} versions, {self.counts['models']} models, "
              f"{self.counts['runs']} runs")
        print("computed by " + ", ".join(f"{count} {name}" for name, count in self.by_reference.most_common()))
        print(", ".join(f"{count} {name}" for name, count in self.counts.most_common()))
        return 1 if self.counts["unexplained"] or stale else 0
