"""Proves the rules of simplification with Z3, and writes `results.tsv`.

    python ui-tests/proofs/prove.py [--check] [RULE..]

Without names all rules are proved, and the faults that must not be provable are tried. With names only these rules are, and
their rows are replaced. `--check` compares the rows instead of writing them. It needs cargo, `z3-solver` and `numpy`.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import z3

from constants import constants
from domains import Exact
from families import casts, elementwise, integers, moves, products, structures
from faults import FAULTS, REASONS
from graphs import Runner, sizes_of
from laws import Failure, check, consistent, domain, letters, prove

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.tsv"
COLUMNS = ["rule", "hash", "proof", "assumptions", "axioms", "formulas", "faults", "seconds"]
LAWS = [form for family in (elementwise, products, structures, integers) for law in family.LAWS for form in law.forms()]
# Proofs by functions: rule, function, form, assumptions.
FUNCTIONS = [
    *((rule, law, moves.FORM, assumed) for rule, (law, assumed) in moves.LAWS.items()),
    *casts.LAWS,
    *integers.SPECIAL,
]


def rules(path):
    """All rules as the compiler declares them, with their graphs before and after, or those in a file."""
    if path:
        return [json.loads(line) for line in path.read_text().splitlines()]
    command = ["cargo", "run", "--quiet", "--package", "onnx-embed-proofs", "--bin", "rules"]
    done = subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Row:
    """What is proved of a rule."""

    def __init__(self, rule):
        self.rule = rule
        self.forms, self.assumptions, self.axioms = {}, {}, set()
        self.formulas = self.faults = 0
        self.start = time.monotonic()

    def add(self, form, count, assumptions=(), axioms=()):
        self.forms[form] = None
        self.formulas += count
        self.assumptions.update(dict.fromkeys(filter(None, assumptions)))
        self.axioms.update(filter(None, axioms))

    def cells(self):
        seconds = f"{time.monotonic() - self.start:.1f}"
        proof = "; ".join(self.forms)
        reason = REASONS.get(self.rule["name"])
        proof = "; ".join(filter(None, [proof, reason and f"no law for Z3: {reason}"]))
        joined = ["; ".join(self.assumptions) or "-", "; ".join(sorted(self.axioms)) or "-"]
        return [self.rule["name"], self.rule["hash"], proof, *joined, str(self.formulas), str(self.faults), seconds]


def with_texts(law, rule):
    """A law whose texts are those of the rule, where it has none of its own."""
    return replace(law, left=law.left or rule["pattern"], right=law.right or rule["replacement"])


def form_of(law):
    """What a law is proved of, for the table."""
    if law.over == "reals" and set(law.bools.split()) >= {"x"}:
        over = "booleans"
    elif isinstance(law.over, str):
        over = {"numbers": "reals with NaN, ∞ and -0", "reals": "reals"}[law.over]
    else:
        over = domain(law.over).name
    sizes = f", sizes {', '.join(map(str, law.sizes))}" if letters(law) else ""
    return f"{over}{sizes}" + (f" ({law.note})" if law.note else "")


def prove_function(function):
    count = 0
    for facts, goal in function():
        consistent(facts)
        check([("", facts)], [goal])
        count += 1
    return count


def prove_graphs(rule):
    """Proves that the graphs are equal before and after the rule, as the compiler's function rewrites them."""
    count, used = 0, set()
    for graph in rule["graphs"]:
        for sizes in sizes_of(graph["before"]):
            d = Exact()
            left, right = (Runner(d, sizes).graph(graph[side]) for side in ("before", "after"))
            goals = [d.same(a, b) for x, y in zip(left, right) for a, b in zip(x.ravel(), y.ravel())]
            if [x.shape for x in left] != [y.shape for y in right]:
                raise Failure("the shapes of the graphs differ")
            used |= check(d.facts() + [("", d.ranges)], goals)
            count += len(goals)
    return count, used


def prove_rule(rule):
    """A row, or a failure with what was tried."""
    row = Row(rule)
    for law in LAWS:
        if law.rule == rule["name"]:
            law = with_texts(law, rule)
            tried = f"{law.left} = {law.right} over {law.over}"
            count, used = attempt(tried, lambda: prove(law))
            either = ["a zero may have either sign"] if law.either_zero else []
            row.faults += attempt(tried, lambda: contradicted(law))
            row.add(form_of(law), count, [*law.where, *either], used - set(law.where))
    for name, function, form, assumed in FUNCTIONS:
        if name == rule["name"]:
            row.add(form, attempt(form, lambda: prove_function(function)), [assumed])
    if not row.forms and rule["name"] not in REASONS:
        raise Failure("it has no law: add one to `families`, or the reason to `REASONS` of faults.py")
    count, used = attempt("its graphs", lambda: prove_graphs(rule))
    row.add(
        f"{len(rule['graphs'])} graph{'s' * (len(rule['graphs']) > 1)} as rewritten, sizes 1, 2, 3", count, (), used
    )
    for fault in FAULTS:
        if fault.rule == rule["name"]:
            catch(fault, rule)
            row.faults += 1
    return row


def contradicted(law):
    """Fails unless each assumption is needed. Returns their number."""
    for text in law.where:
        rest = {other: condition for other, condition in law.where.items() if other != text}
        try:
            prove(replace(law, where=rest))
        except Failure as failure:
            if not str(failure).startswith("undecided"):
                continue
            raise
        raise Failure(f"it is proved without the assumption that {text}")
    return len(law.where)


def attempt(tried, proof):
    try:
        return proof()
    except Failure as failure:
        raise Failure(f"{tried}: {failure}") from None


def catch(fault, rule):
    """A fault must have a counterexample."""
    try:
        if callable(fault.proof):
            prove_function(fault.proof)
        else:
            prove(with_texts(fault.proof, rule))
    except Failure as failure:
        if str(failure).startswith("undecided"):
            raise Failure(f"no counterexample was found to the fault: {fault.text}: {failure}") from None
        return
    raise Failure(f"the fault was proved: {fault.text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with results.tsv instead of writing it")
    parser.add_argument(
        "--rules-from", type=Path, metavar="FILE", help="what the program `rules` of this package has printed"
    )
    parser.add_argument("rules", nargs="*", metavar="RULE")
    arguments = parser.parse_args()
    z3.set_param("smt.random_seed", 0)
    everything = rules(arguments.rules_from)
    unknown = {*arguments.rules, *(law.rule for law in LAWS), *(name for name, *_ in FUNCTIONS), *REASONS}
    unknown -= {rule["name"] for rule in everything}
    if unknown:
        sys.exit(f"no rules have these names: {', '.join(sorted(unknown))}")
    old = [line.split("\t") for line in RESULTS.read_text().splitlines()[1:]] if RESULTS.exists() else []
    rows, failures = {row[0]: row for row in old}, []
    for line in constants():
        print(line)
    start = time.monotonic()
    for rule in everything:
        if arguments.rules and rule["name"] not in arguments.rules:
            continue
        try:
            row = prove_rule(rule).cells()
        except (Failure, ValueError, KeyError, AttributeError, TypeError, z3.Z3Exception) as failure:
            failures.append(rule["name"])
            print(f"{rule['name']}: NOT PROVED: {type(failure).__name__} {failure}", flush=True)
            continue
        if arguments.check and rows.get(row[0], [])[:-1] != row[:-1]:
            failures.append(rule["name"])
            print(f"{rule['name']}: its row in results.tsv differs: {row}")
        rows[row[0]] = row
        print(f"{row[0]}: {row[2]} ({row[-1]} s)", flush=True)
    if not arguments.check:
        kept = [rows[rule["name"]] for rule in everything if rule["name"] in rows]
        RESULTS.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS, *kept]))
    print(f"{len(failures)} of {len(arguments.rules or everything)} not proved, {time.monotonic() - start:.0f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
