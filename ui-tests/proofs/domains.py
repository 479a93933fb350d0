"""Domains of elements with the constants and functions that the definitions of operators need."""

import z3

from reals import Extended, Extension, Reals, fraction, rounded

# Irrational constants, and what is known of them.
CONSTANTS = {
    "√2": ("√2 · √2 = 2", lambda v: [v > 0, v * v == 2]),
    "√(2/π)": ("√(2/π) is positive", lambda v: [v > 0]),
}


class Exact(Reals):
    def __init__(self):
        super().__init__()
        self.more = {}
        self.ranges = []

    def number(self, value):
        return self.lowest() if isinstance(value, str) and value == "-inf" else super().number(value)

    def facts(self):
        return [(text, formulas) for text, formulas, _ in self.applied.values()] + list(self.more.items())

    def named(self, name):
        value = z3.Real(name)
        text, law = CONSTANTS[name]
        self.more[text] = law(value)
        return value

    def known(self, x):
        return fraction(x)

    def lowest(self):
        return z3.Real("-∞")

    def absolute(self, x):
        return z3.If(x < 0, -x, x)

    def sign(self, x):
        return z3.If(x > 0, z3.Q(1, 1), z3.If(x < 0, z3.Q(-1, 1), z3.Q(0, 1)))

    def whole(self, name, x):
        down = z3.ToReal(z3.ToInt(x))
        return {"Floor": down, "Ceil": -z3.ToReal(z3.ToInt(-x)), "Round": rounded(x)}[name]

    def cast(self, x, to):
        return z3.If(x, z3.Q(1, 1), z3.Q(0, 1)) if z3.is_bool(x) else x

    def bits(self, name, a, b):
        return z3.Function(f"Bitwise{name}", *[z3.RealSort()] * 3)(a, b)


class Signed(Extension):
    def __init__(self, either_zero=False):
        super().__init__(Exact())
        self.either_zero = either_zero

    def facts(self):
        return self.reals.facts() + [("", self.shape)]

    def named(self, name):
        val = self.reals.named(name)
        return Extended(False, False, False, False, val)

    def known(self, x):
        return fraction(x.val)

    def lowest(self):
        return self.number("-inf")

    def sign(self, x):
        one = self.choose(x.neg, self.number(-1), self.number(1))
        return self.choose(z3.Or(x.nan, x.zero), x, one)

    def whole(self, name, x):
        val = self.reals.whole(name, x.val)
        whole = Extended(x.nan, x.inf, z3.Or(x.zero, z3.And(z3.Not(z3.Or(x.nan, x.inf)), val == 0)), x.neg, val)
        return whole

    def cast(self, x, to):
        return self.choose(x, self.number(1), self.number(0)) if z3.is_bool(x) else x

    @staticmethod
    def finite(*values):
        return [z3.Not(z3.Or(x.nan, x.inf)) for value in values for x in value.ravel()]


class Words:
    """Integers of so many bits, whose sums and products wrap."""

    def __init__(self, bits, is_signed):
        self.width, self.is_signed = bits, is_signed
        self.name = f"{'i' if is_signed else 'u'}{bits}"

    def facts(self):
        return []

    def number(self, value):
        return z3.BitVecVal(int(value), self.width)

    def variable(self, name):
        return z3.BitVec(name, self.width)

    def known(self, x):
        return z3.simplify(x).as_signed_long()

    def add(self, a, b):
        return a + b

    def mul(self, a, b):
        return a * b

    def neg(self, a):
        return -a

    def divided(self, a, b):
        return a / b if self.is_signed else z3.UDiv(a, b)

    def less(self, a, b):
        return a < b if self.is_signed else z3.ULT(a, b)

    def equal(self, a, b):
        return a == b

    def choose(self, condition, a, b):
        return z3.If(condition, a, b)

    def larger(self, a, b):
        return z3.If(self.less(a, b), b, a)

    def smaller(self, a, b):
        return z3.If(self.less(b, a), b, a)

    def absolute(self, a):
        return z3.If(self.less(a, self.number(0)), -a, a)

    def sign(self, a):
        zero = self.number(0)
        return z3.If(self.less(a, zero), self.number(-1), z3.If(a == zero, zero, self.number(1)))

    def inverse(self, a):
        return self.divided(self.number(1), a)

    def same(self, a, b):
        return z3.simplify(a == b)
