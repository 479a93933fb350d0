"""What a proof of a rule consists of: formulas of both sides, their assumptions, and faults that must not be provable."""

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import z3

import quantized  # noqa: F401 (registers its operators)
import terms  # noqa: F401
from domains import Exact, Signed, Words
from elements import array
from grammar import parse
from products import run

# Numbers of patterns that stand for exact ones.
EXACT = {
    "1/1.4142135623730951": ("1/", "√2"),
    "0.7978845608028654": ("", "√(2/π)"),
    "0.16666667": ("1/6", None),
}
# Operands that a product reads transposed.
TRANSPOSED = {"left": [True, False], "right": [False, True], "both": [True, True]}
# Masks that are added to scores, or that choose them.
FILLS = {"added": [None], "chosen": ["-1000000000"]}
ACTIVATIONS = {
    "Relu": {"name": "Relu"},
    "Tanh": {"name": "Tanh"},
    "LeakyRelu": {"name": "LeakyRelu", "parameters": ["0.2"]},
    "Clip": {"name": "Clip", "parameters": ["0", "6"]},
}
WORDS = {**TRANSPOSED, **FILLS, **ACTIVATIONS}
# Milliseconds for one attempt at a formula, and the number of attempts.
PATIENCE, ATTEMPTS = 10_000, 4


@dataclass
class Law:
    """Two terms in the grammar of rules that are equal for all elements, under assumptions."""

    rule: str
    left: str = None
    right: str = None
    # Letters of the axes of each operand, in lower case for a fixed size of 2; other operands are single elements.
    shapes: dict = field(default_factory=dict)
    # Domain: `numbers` have NaN, infinities and signed zeros, `reals` have not; or a number of bits of integers.
    over: object = "numbers"
    # Assumptions: the condition of the rule as text, and a function of domain and operands.
    where: dict = field(default_factory=dict)
    # Whether a zero may have either sign.
    either_zero: bool = False
    bools: str = ""
    # Operands that are known: arrays of integers, or numbers as text.
    given: dict = field(default_factory=dict)
    # Attributes `@name` of the right side, and those that the texts leave out, by the operator.
    settings: dict = field(default_factory=dict)
    # Further operands of operators that have `..`.
    more: dict = field(default_factory=dict)
    sizes: tuple = (1, 2, 3)
    # Assumptions under which a law over reals is also one of numbers, `None` if it is not proved of them.
    extended: dict = field(default_factory=dict)
    extended_size: int = 2
    note: str = ""

    def forms(self):
        """The law over reals, and over numbers, at one size."""
        yield self
        if self.over == "reals" and self.extended is not None:
            where = {**self.where, **self.extended}
            yield replace(self, over="numbers", sizes=(self.extended_size,), where=where)


class Failure(Exception):
    """A formula that is not proved: with the values that contradict it, or none if time was short."""


def check(facts, goals):
    """Proves each goal under the facts, which are pairs of a name and formulas. Returns the names that were needed."""
    used = set()
    formulas = [formula for _, formulas in facts for formula in formulas]
    for goal in goals:
        if z3.is_true(goal):
            continue
        for seed in range(ATTEMPTS):
            solver = z3.Solver()
            solver.set(timeout=PATIENCE, random_seed=seed)
            solver.add(formulas)
            solver.add(z3.Not(goal))
            answer = solver.check()
            if answer != z3.unknown:
                break
        if answer == z3.sat:
            raise Failure(str(solver.model())[:300])
        if answer != z3.unsat:
            raise Failure(f"undecided: {solver.reason_unknown()}")
        used |= {name for name, some in facts if some}
    return used


def consistent(formulas):
    """Fails if assumptions contradict each other, so that they would prove everything."""
    solver = z3.Solver()
    solver.set(timeout=PATIENCE // 5)
    solver.add(formulas)
    if formulas and solver.check() == z3.unsat:
        raise Failure("the assumptions contradict each other")


def domain(over, either_zero=False):
    if over == "reals":
        return Exact()
    if over == "numbers":
        return Signed(either_zero)
    return Words(over[1], False) if isinstance(over, tuple) else Words(over, True)


def letters(law):
    return sorted({letter for axes in law.shapes.values() for letter in axes if letter.isupper()})


def operands(d, law, trees, sizes):
    """Arrays of variables for the words of both sides."""
    values = {}
    for name in sorted(set().union(*(words(tree) for tree in trees))):
        axes = law.shapes.get(name, "")
        shape = tuple(sizes.get(letter, 2) if letter.isalpha() else int(letter) for letter in axes)
        if name in law.given:
            known = law.given[name]
            values[name] = array(d.number(known)) if isinstance(known, str) else np.array(known, int)
        elif name in law.bools.split():
            values[name] = array([z3.Bool(f"{name}.{at}") for at in range(int(np.prod(shape)))], shape)
        else:
            values[name] = array([d.variable(f"{name}.{at}") for at in range(int(np.prod(shape)))], shape)
    return values


def words(tree):
    """The names of operands in a term."""
    form = tree[0]
    if form in ("word", "scalar", "constant"):
        return {tree[1]}
    if form in ("number", "absent"):
        return set()
    if form == "call":
        parts = tree[1].operands
        settings = {value[1:] for value in tree[1].attributes.values() if value.startswith("#")}
        return set().union(settings, *(words(part) for part in parts))
    parts = tree[1] if form in ("sum", "product", "either") else [part for part in tree[1:] if isinstance(part, tuple)]
    return set().union(*(words(part) for part in parts))


def number(d, text):
    if text in EXACT:
        value, name = EXACT[text]
        if name is None:
            return d.number(value)
        return d.inverse(d.named(name)) if value else d.named(name)
    return d.number(text)


class Terms:
    """Evaluates terms. `kinds` are the operators for `A|B(..)`, by their texts."""

    def __init__(self, d, law, values, kinds):
        self.d, self.law, self.values, self.kinds = d, law, values, kinds

    def of(self, tree):
        form, d = tree[0], self.d
        if form in ("word", "scalar", "constant"):
            return self.values[tree[1]]
        if form == "number":
            return array(number(d, tree[1]))
        if form == "absent":
            return None
        if form in ("sum", "product"):
            result = self.of(tree[1][0])
            for part in tree[1][1:]:
                result = run(d, "Add" if form == "sum" else "Mul", {}, result, self.of(part))
            return result
        if form == "difference":
            return run(d, "Sub", {}, self.of(tree[1]), self.of(tree[2]))
        if form == "inverse":
            return run(d, "Reciprocal", {}, self.of(tree[1]))
        if form == "power":
            return run(d, "Pow", {}, self.of(tree[1]), array(d.number(tree[2])))
        if form == "either":
            return self.of(tree[1][0])
        return self.call(tree[1])

    def call(self, call):
        kind = self.kinds["|".join(call.kinds)]
        if call.operands and kind in ("And", "Or"):
            operands = [self.truth(part) for part in call.operands]
        else:
            operands = [self.of(part) for part in call.operands]
        more = self.law.more.get(call.label) or self.law.more.get(kind, []) if call.is_open else []
        operands += [self.values[name] if isinstance(name, str) else name for name in more]
        attributes = dict(self.law.settings.get(kind, {}))
        for name, value in call.attributes.items():
            attributes[name] = self.attribute(value)
        return run(self.d, kind, attributes, *operands)

    def truth(self, part):
        return array(z3.BoolVal(part[1] != "0")) if part[0] == "number" else self.of(part)

    def attribute(self, value):
        if value[0] == "#":
            return self.values[value[1:]].ravel()[0]
        if value[0] == "@":
            return self.law.settings[value]
        if value in EXACT or value in WORDS:
            return EXACT[value][0] if value in EXACT else WORDS[value]
        try:
            return int(value)
        except ValueError:
            return value


def choices(trees, law):
    """All choices of one operator for each `A|B(..)`."""
    found = {}

    def visit(tree):
        if tree[0] == "call":
            found["|".join(tree[1].kinds)] = tree[1].kinds
            for part in tree[1].operands:
                visit(part)
        else:
            for part in tree[1:]:
                for inner in part if isinstance(part, list) else [part]:
                    if isinstance(inner, tuple):
                        visit(inner)

    for tree in trees:
        visit(tree)
    return [dict(zip(found, kinds)) for kinds in product(*found.values())]


def prove(law):
    """Proves a law for all its operators and sizes. Returns the number of formulas, and the names of what was assumed."""
    trees = [parse(law.left), parse(law.right)]
    count, used = 0, set()
    for kinds in choices(trees, law):
        for sizes in product(law.sizes, repeat=len(letters(law))):
            d = domain(law.over, law.either_zero)
            values = operands(d, law, trees, dict(zip(letters(law), sizes)))
            terms = Terms(d, law, values, kinds)
            left, right = (terms.of(tree) for tree in trees)
            if left.shape != right.shape:
                raise Failure(f"the shapes are {left.shape} and {right.shape}")
            assumed = [(text, condition(d, values)) for text, condition in law.where.items()]
            facts = assumed + d.facts()
            consistent([formula for _, formulas in assumed for formula in formulas])
            goals = [d.same(a, b) for a, b in zip(left.ravel(), right.ravel())]
            used |= check(facts, goals)
            count += len(goals)
    return count, used
