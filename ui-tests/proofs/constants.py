"""Numbers of patterns and right sides that stand for others, and how far they are from them."""

from fractions import Fraction

import z3

# π is within these bounds.
PI = (Fraction("3.14159265358979323846"), Fraction("3.14159265358979323847"))
SINGLE = Fraction(1, 1 << 24)


def proved(text, *goals):
    solver = z3.Solver()
    solver.add(z3.Not(z3.And(*goals)))
    if solver.check() != z3.unsat:
        raise SystemExit(f"not proved: {text}")
    return f"constant: {text}"


def real(value):
    value = Fraction(value)
    return z3.Q(value.numerator, value.denominator)


def near(value, exact, relative):
    return z3.And(value - exact <= exact * relative, exact - value <= exact * relative)


def constants():
    """A line for each number, after its proof."""
    double = real(Fraction(1, 1 << 53))
    root, factor, pi = z3.Reals("root factor pi")
    is_near = near(real("1.4142135623730951"), root, double)
    yield proved("|1.4142135623730951 - √2| ≤ 2⁻⁵³ √2", z3.Implies(z3.And(root > 0, root * root == 2), is_near))
    facts = z3.And(factor > 0, factor * factor * pi == 2, pi >= real(PI[0]), pi <= real(PI[1]))
    yield proved(
        "|0.7978845608028654 - √(2/π)| ≤ 2⁻⁵³ √(2/π)",
        z3.Implies(facts, near(real("0.7978845608028654"), factor, double)),
    )
    yield proved("|0.16666667 - 1/6| ≤ 2⁻²⁴ / 6", near(real("0.16666667"), real(Fraction(1, 6)), real(SINGLE)))
    yield "constant: 0.044715 is the number of the specification"
