"""The law of casts through a wider type: floats and integers by their bits."""

import z3

FLOATS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
INTEGERS = {f"{sign}{bits}": (bits, sign == "int") for sign in ("int", "uint") for bits in (8, 16, 32, 64)}
UP, DOWN, EVEN = z3.RTP(), z3.RTN(), z3.RNE()


def represents(wide, narrow):
    """The condition of the rule (`represents` in movement.rs)."""
    if wide in FLOATS and narrow in FLOATS:
        return all(a >= b for a, b in zip(FLOATS[wide], FLOATS[narrow]))
    bits, is_signed = INTEGERS[narrow]
    digits = bits - is_signed
    if wide in FLOATS:
        return FLOATS[wide][1] >= digits
    wide_bits, wide_signed = INTEGERS[wide]
    return (wide_signed or not is_signed) and wide_bits - wide_signed >= digits


def to_float(value, mode, sort, is_signed):
    return z3.fpToFP(mode, value, sort) if is_signed else z3.fpToFPUnsigned(mode, value, sort)


def extended(value, bits, is_signed):
    more = bits - value.size()
    return z3.SignExt(more, value) if is_signed else z3.ZeroExt(more, value)


def exact(wide, narrow):
    """The goal that the wide type has the value of every element of the narrow one."""
    if wide in FLOATS and narrow in FLOATS:
        x = z3.FP("x", z3.FPSort(*FLOATS[narrow]))
        up, down = (z3.fpToFP(mode, x, z3.FPSort(*FLOATS[wide])) for mode in (UP, DOWN))
        back = z3.fpToFP(EVEN, up, x.sort())
        return z3.And(
            z3.Or(up == down, z3.fpIsNaN(x)), z3.Or(back == x, z3.fpIsNaN(x)), z3.fpIsNaN(x) == z3.fpIsNaN(up)
        )
    bits, is_signed = INTEGERS[narrow]
    x = z3.BitVec("x", bits)
    if wide in FLOATS:
        # A number that is rounded neither up nor down is exact.
        up, down = (to_float(x, mode, z3.FPSort(*FLOATS[wide]), is_signed) for mode in (UP, DOWN))
        return z3.And(z3.fpEQ(up, down), z3.Not(z3.fpIsInf(up)))
    wide_bits, wide_signed = INTEGERS[wide]
    if wide_bits <= bits:
        return z3.BoolVal(wide == narrow)
    value = extended(x, wide_bits, is_signed)
    return z3.Or(value >= 0, z3.BoolVal(is_signed or not wide_signed))


def wrapped(wide, narrow, to):
    """The goal that integers cast through wider integers, or floats, end as those that are cast at once.

    Integers wrap; floats out of the range of the target become its nearest bound.
    """
    bits, is_signed = INTEGERS[narrow]
    to_bits, to_signed = INTEGERS[to]
    x = z3.BitVec("x", bits)
    at_once = z3.Extract(to_bits - 1, 0, x) if to_bits <= bits else extended(x, to_bits, is_signed)
    if wide in INTEGERS:
        wide_bits, wide_signed = INTEGERS[wide]
        value = x if wide_bits == bits else extended(x, wide_bits, is_signed)
        through = z3.Extract(to_bits - 1, 0, value) if to_bits <= wide_bits else extended(value, to_bits, wide_signed)
        return through == at_once
    # The float is exact, so its bounds are those of the integer in more bits.
    value = extended(x, 72, is_signed)
    low, high = (-(1 << to_bits - 1), (1 << to_bits - 1) - 1) if to_signed else (0, (1 << to_bits) - 1)
    clamped = z3.If(value < low, z3.BitVecVal(low, 72), z3.If(value > high, z3.BitVecVal(high, 72), value))
    return z3.Extract(to_bits - 1, 0, clamped) == at_once


def fits(to, narrow):
    return represents(to, narrow)


def exact_values(condition=represents):
    types = [*FLOATS, *INTEGERS]
    for wide in types:
        for narrow in types:
            if narrow in FLOATS and wide in INTEGERS:
                continue
            if wide != narrow and condition(wide, narrow):
                yield [], exact(wide, narrow)


def integers(condition=lambda wide, narrow, to: wide in INTEGERS or represents(to, narrow)):
    """A float between integers is a condition of its own: the last type must represent the first."""
    for wide in [*FLOATS, *INTEGERS]:
        for narrow in INTEGERS:
            for to in INTEGERS:
                if wide != narrow and represents(wide, narrow) and condition(wide, narrow, to):
                    yield [], wrapped(wide, narrow, to)


LAWS = [
    ("casts", exact_values, "bits of all pairs of types", "the type between represents all values"),
    (
        "casts",
        integers,
        "bits of all triples of integers",
        "integers through floats: the last type represents the first",
    ),
]
