"""The grammar of patterns and right sides, as `ir/src/passes/rewrite/pattern.rs` parses them."""

import re
from fractions import Fraction

TOKEN = re.compile(r"\s*(\.\.|[#$@]?\w[\w.|\[\]]*|\[[\w.|\[\]]*|[-+*/^(),:<>=])")
# Operators that have the fact in brackets (`ops::class`) and a definition here.
CLASSES = {"[activation]": "Relu LeakyRelu Tanh Sigmoid Elu Gelu HardSigmoid HardSwish Mish Softplus Swish".split()}


class Call:
    """An operator with its operands."""

    def __init__(self, kinds, label, attributes, operands, is_open):
        self.kinds, self.label, self.attributes = kinds, label, attributes
        self.operands, self.is_open = operands, is_open


def parse(text):
    """Nested tuples `(form, ..)`, with a `Call` for each operator."""
    parser = Parser(text)
    result = parser.sum()
    if parser.next:
        raise ValueError(f"{text!r} goes on with {parser.next!r}")
    return result


class Parser:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        if "".join(self.tokens) != "".join(text.split()):
            raise ValueError(f"{text!r} has other signs")

    @property
    def next(self):
        return self.tokens[0] if self.tokens else ""

    def accept(self, sign):
        if self.next == sign:
            return self.tokens.pop(0)
        return None

    def expect(self, sign):
        if not self.accept(sign):
            raise ValueError(f"expected {sign!r}, found {self.next!r}")

    def sum(self):
        terms = [self.product()]
        while sign := self.accept("+") or self.accept("-"):
            if sign == "+":
                terms.append(self.product())
            else:
                terms = [("difference", joined("sum", terms), self.product())]
        return joined("sum", terms)

    def product(self):
        factors = [self.power()]
        while sign := self.accept("*") or self.accept("/"):
            if sign == "*":
                factors.append(self.power())
                continue
            if factors == [("number", "1")]:
                factors = []
            divisor = self.power()
            factors.append(("number", f"1/{divisor[1]}") if divisor[0] == "number" else ("inverse", divisor))
        return joined("product", factors)

    def power(self):
        base = self.atom()
        return ("power", base, int(self.tokens.pop(0))) if self.accept("^") else base

    def atom(self):
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        word = self.tokens.pop(0)
        if word[0] in "#$":
            return ("scalar" if word[0] == "#" else "constant", word[1:])
        if word[0].isdigit():
            return ("number", word)
        if word == "_":
            return ("absent",)
        if word == "either":
            return ("either", self.operands()[0])
        if word[0].isupper() or "." in word or "[" in word:
            return self.call(word)
        return ("word", word)

    def call(self, kinds):
        label = self.tokens.pop(0) if self.accept(":") else None
        attributes = {}
        if self.accept("<"):
            while not self.accept(">"):
                name = self.tokens.pop(0)
                self.expect("=")
                sign = "-" if self.accept("-") else ""
                attributes[name] = sign + self.tokens.pop(0)
                self.accept(",")
        operands, is_open = self.operands()
        names = [name for kind in kinds.split("|") for name in CLASSES.get(kind, [kind])]
        return ("call", Call(names, label, attributes, operands, is_open))

    def operands(self):
        operands, is_open = [], False
        self.expect("(")
        while not self.accept(")"):
            if self.accept(".."):
                is_open = True
            else:
                operands.append(self.sum())
            self.accept(",")
        return operands, is_open


def joined(form, parts):
    return parts[0] if len(parts) == 1 else (form, parts)


def number(text):
    """The exact number of a decimal text, or of `1/TEXT`."""
    inverse, digits = text.startswith("1/"), text.removeprefix("1/")
    value = Fraction(digits)
    return 1 / value if inverse else value
