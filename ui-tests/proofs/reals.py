"""Two kinds of numbers: reals, and reals with NaN, infinities and signed zeros, both without rounding."""

from fractions import Fraction

import z3

from grammar import number

# What is assumed of functions, by name. `v` is the argument, `r` the result.
AXIOMS = {
    "Exp": ("exp(v) > 0, exp(0) = 1", lambda v, r: [r > 0, z3.Implies(v == 0, r == 1)]),
    "Log": ("ln 1 = 0, ln v ≥ 0 for v ≥ 1", lambda v, r: [z3.Implies(v == 1, r == 0), z3.Implies(v >= 1, r >= 0)]),
    "Erf": ("erf is odd in sign and within (-1, 1)", lambda v, r: odd(v, r)),
    "Tanh": ("tanh is odd in sign and within (-1, 1)", lambda v, r: odd(v, r)),
    "Sigmoid": ("the sigmoid is within (0, 1), 1/2 at 0", lambda v, r: [0 < r, r < 1, z3.Implies(v == 0, r * 2 == 1)]),
    "Cos": ("cos 0 = 1", lambda v, r: [z3.Implies(v == 0, r == 1)]),
    "Sqrt": ("√v is the root that is not negative", lambda v, r: [z3.Implies(v >= 0, z3.And(r >= 0, r * r == v))]),
    "Inverse": ("v · 1/v = 1", lambda v, r: [z3.Implies(v != 0, r * v == 1)]),
    "Round": ("rounding to even", lambda v, r: [r == rounded(v)]),
}


def odd(v, r):
    return [-1 < r, r < 1, (v > 0) == (r > 0), (v < 0) == (r < 0)]


def rounded(v):
    """The nearest integer, the even one of two."""
    up = z3.ToInt(v + z3.Q(1, 2))
    tie = z3.ToReal(up) == v + z3.Q(1, 2)
    return z3.ToReal(z3.If(z3.And(tie, up % 2 != 0), up - 1, up))


def normal(term):
    return z3.simplify(term, som=True, hoist_mul=False)


class Reals:
    """Elements are terms of sort Real, in a normal form. Booleans are terms of sort Bool."""

    name = "reals"

    def __init__(self):
        # The axioms of the functions at the arguments that occur.
        self.applied = {}

    def number(self, value):
        if z3.is_expr(value):
            return value
        value = number(value) if isinstance(value, str) else Fraction(value)
        return z3.Q(value.numerator, value.denominator)

    def variable(self, name):
        return z3.Real(name)

    def function(self, name, x):
        """An uninterpreted function, with its axioms at this argument."""
        x = normal(x)
        result = z3.Function(name, z3.RealSort(), z3.RealSort())(x)
        if name in AXIOMS:
            text, axiom = AXIOMS[name]
            self.applied[result.get_id()] = (text, axiom(x, result), result)
        return result

    def inverse(self, x):
        x = normal(x)
        return self.number(1 / fraction(x)) if z3.is_rational_value(x) and fraction(x) else self.function("Inverse", x)

    def divided(self, a, b):
        return normal(a * self.inverse(b))

    def add(self, a, b):
        return normal(a + b)

    def mul(self, a, b):
        return normal(a * b)

    def neg(self, a):
        return normal(-a)

    def less(self, a, b):
        return normal(b - a > 0)

    def equal(self, a, b):
        return normal(a - b == 0)

    def nan(self, a):
        return z3.BoolVal(False)

    def choose(self, condition, a, b):
        return normal(z3.If(condition, a, b))

    def larger(self, a, b):
        return normal(z3.If(a - b >= 0, a, b))

    def smaller(self, a, b):
        return normal(z3.If(a - b <= 0, a, b))

    def same(self, a, b):
        """The goal that two elements are equal."""
        return normal(a - b == 0) if z3.is_arith(a) else z3.simplify(a == b)


def fraction(term):
    return Fraction(term.numerator_as_long(), term.denominator_as_long())


class Extended:
    """A number with NaN, infinities and signed zeros: `zero` is a zero, `neg` its sign or that of another number, and `val`
    the real number of one that is neither NaN nor infinite."""

    def __init__(self, nan, inf, zero, neg, val):
        simple = [z3.simplify(z3.BoolVal(flag) if isinstance(flag, bool) else flag) for flag in (nan, inf, zero, neg)]
        self.nan, self.inf, self.zero, self.neg = simple
        self.val = normal(val)


class Extension:
    """The operations of IEEE 754 on `Extended`, without rounding, overflow and underflow."""

    name = "reals with NaN, infinities and signed zeros"

    def __init__(self, reals):
        self.reals = reals
        # What holds of the parts of variables.
        self.shape = []
        # Whether a result may be either zero, as that of bounds.
        self.either_zero = False

    def number(self, value):
        if isinstance(value, Extended):
            return value
        if value in ("inf", "-inf"):
            return Extended(False, True, False, value == "-inf", z3.Q(1, 1))
        negative = str(value).startswith("-")
        return Extended(False, False, number(str(value)) == 0, negative, self.reals.number(value))

    def variable(self, name):
        nan, inf, zero, neg = (z3.Bool(f"{name}.{flag}") for flag in ("nan", "inf", "zero", "neg"))
        val = z3.Real(name)
        self.shape += [
            z3.AtMost(nan, inf, zero, 1),
            z3.If(z3.Or(zero, nan, inf), val == 0, z3.And(val != 0, neg == (val < 0))),
        ]
        return Extended(nan, inf, zero, neg, val)

    def function(self, name, x):
        """A function of the numbers, with its values at zeros and infinities."""
        r = self.reals.function(name, x.val)
        if name in ("Erf", "Tanh"):
            result = Extended(False, False, x.zero, x.neg, r)
        elif name in ("Sqrt", "Log"):
            result = Extended(z3.And(x.neg, z3.Not(x.zero)), False, r == 0, r < 0, r)
        else:
            result = Extended(False, False, r == 0, r < 0, r)
        low, high, zero = LIMITS[name]
        for condition, value in (
            (z3.And(x.inf, x.neg), low),
            (z3.And(x.inf, z3.Not(x.neg)), high),
            (x.zero, zero),
            (x.nan, "nan"),
        ):
            result = self.choose(condition, self.special(value, x), result)
        return result

    def special(self, value, x):
        if value == "nan":
            return Extended(True, False, False, False, z3.Q(0, 1))
        return x if value == "itself" else self.number(value)

    def inverse(self, x):
        r = self.reals.inverse(x.val)
        return Extended(x.nan, x.zero, x.inf, x.neg, z3.If(z3.Or(x.inf, x.zero), 0, r))

    def divided(self, a, b):
        return self.mul(a, self.inverse(b))

    def add(self, a, b):
        val = normal(a.val + b.val)
        nan = z3.Or(a.nan, b.nan, z3.And(a.inf, b.inf, a.neg != b.neg))
        inf = z3.And(z3.Not(nan), z3.Or(a.inf, b.inf))
        zero = z3.And(z3.Not(z3.Or(nan, inf)), val == 0)
        sign = z3.If(z3.And(a.zero, b.zero), z3.And(a.neg, b.neg), z3.If(a.zero, b.neg, z3.If(b.zero, a.neg, val < 0)))
        neg = z3.If(inf, z3.If(a.inf, a.neg, b.neg), sign)
        return Extended(nan, inf, zero, neg, val)

    def mul(self, a, b):
        nan = z3.Or(a.nan, b.nan, z3.And(a.inf, b.zero), z3.And(a.zero, b.inf))
        inf = z3.And(z3.Not(nan), z3.Or(a.inf, b.inf))
        zero = z3.And(z3.Not(nan), z3.Or(a.zero, b.zero))
        return Extended(nan, inf, zero, a.neg != b.neg, a.val * b.val)

    def neg(self, a):
        return Extended(a.nan, a.inf, a.zero, z3.Not(a.neg), -a.val)

    def absolute(self, a):
        return Extended(a.nan, a.inf, a.zero, False, z3.If(a.val < 0, -a.val, a.val))

    def less(self, a, b):
        low = z3.And(a.inf, a.neg)
        high = z3.And(b.inf, z3.Not(b.neg))
        finite = z3.And(z3.Not(a.inf), z3.Not(b.inf), a.val < b.val)
        ends = z3.Or(z3.And(low, z3.Not(z3.And(b.inf, b.neg))), z3.And(high, z3.Not(z3.And(a.inf, z3.Not(a.neg)))))
        return z3.simplify(z3.And(z3.Not(a.nan), z3.Not(b.nan), z3.Or(ends, finite)))

    def equal(self, a, b):
        ordered = z3.And(z3.Not(a.nan), z3.Not(b.nan))
        return z3.simplify(z3.And(ordered, z3.Not(self.less(a, b)), z3.Not(self.less(b, a))))

    def nan(self, a):
        return a.nan

    def choose(self, condition, a, b):
        if not isinstance(a, Extended):
            return z3.If(condition, a, b)
        pairs = zip((a.nan, a.inf, a.zero, a.neg, a.val), (b.nan, b.inf, b.zero, b.neg, b.val))
        return Extended(*(z3.If(condition, x, y) for x, y in pairs))

    def larger(self, a, b):
        return self.choose(z3.Or(a.nan, z3.And(z3.Not(b.nan), self.less(b, a))), a, b)

    def smaller(self, a, b):
        return self.choose(z3.Or(a.nan, z3.And(z3.Not(b.nan), self.less(a, b))), a, b)

    def same(self, a, b):
        if not isinstance(a, Extended):
            return z3.simplify(a == b)
        signs = z3.BoolVal(True) if self.either_zero else z3.Implies(a.zero, a.neg == b.neg)
        finite = z3.And(z3.Not(a.inf), z3.Not(b.inf), a.zero == b.zero, normal(a.val - b.val) == 0, signs)
        infinite = z3.And(a.inf, b.inf, a.neg == b.neg)
        numbers = z3.And(z3.Not(a.nan), z3.Not(b.nan), z3.Or(infinite, finite))
        return z3.simplify(z3.Or(z3.And(a.nan, b.nan), numbers))


# Values at -∞, at +∞ and at zeros.
LIMITS = {
    "Exp": ("0", "inf", "1"),
    "Log": ("nan", "inf", "-inf"),
    "Erf": ("-1", "1", "itself"),
    "Tanh": ("-1", "1", "itself"),
    "Sigmoid": ("0", "1", "1/2"),
    "Sqrt": ("nan", "inf", "itself"),
    "Cos": ("nan", "nan", "1"),
}
