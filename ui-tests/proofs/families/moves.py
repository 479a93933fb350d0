"""Laws of moved elements: functions of indices, for sizes that are not known, at ranks 1 to 4.

Each law yields assumptions and a goal. An element is a function of its indices, or of its index in row-major order, because
that is what a reshape keeps.
"""

from itertools import combinations, permutations

import z3

RANKS = (1, 2, 3, 4)
ELEMENT = z3.DeclareSort("Element")


def elements(name, rank):
    """The elements of a value, by their indices."""
    return z3.Function(name, *[z3.IntSort()] * rank, ELEMENT)


def function(name, count):
    """A function of elements, which depends on nothing else."""
    return z3.Function(name, *[ELEMENT] * count, ELEMENT)


def variables(name, rank):
    return [z3.Int(f"{name}{at}") for at in range(rank)]


def within(indices, sizes):
    return [z3.And(0 <= index, index < size) for index, size in zip(indices, sizes)]


def row_major(indices, sizes):
    result = z3.IntVal(0)
    for index, size in zip(indices, sizes):
        result = result * size + index
    return z3.simplify(result, som=True)


def moved(indices, axes):
    """The indices in the input of a transpose."""
    result = [None] * len(axes)
    for index, axis in zip(indices, axes):
        result[axis] = index
    return result


def ceiling(a, b):
    return -((-a) / b)


def transposes(composed=lambda inner, outer: [inner[axis] for axis in outer]):
    for rank in RANKS:
        x, i = elements("x", rank), variables("i", rank)
        for inner in permutations(range(rank)):
            for outer in permutations(range(rank)):
                both = composed(inner, outer)
                yield [], x(*moved(moved(i, outer), inner)) == x(*moved(i, both))


def identity_transpose(axes=sorted):
    for rank in RANKS:
        x, i = elements("x", rank), variables("i", rank)
        yield [], x(*moved(i, axes(range(rank)))) == x(*i)


def around_elementwise():
    for rank in RANKS:
        x, y, i, f = elements("x", rank), elements("y", rank), variables("i", rank), function("f", 3)
        c = z3.Const("c", ELEMENT)
        for inner in permutations(range(rank)):
            for outer in permutations(range(rank)):
                both = [inner[axis] for axis in outer]
                at = moved(moved(i, outer), inner)
                yield [], f(x(*at), y(*at), c) == f(x(*moved(i, both)), y(*moved(i, both)), c)


def ones_moved(is_kept=lambda axes: list(axes) == sorted(axes)):
    """A transpose and reshapes around it keep the row-major index, if the axes whose size is not 1 keep their order."""
    for rank in RANKS:
        i, sizes = variables("i", rank), variables("n", rank)
        for count in range(rank + 1):
            for ones in combinations(range(rank), count):
                one = [z3.IntVal(1) if axis in ones else size for axis, size in enumerate(sizes)]
                at = [z3.IntVal(0) if axis in ones else index for axis, index in enumerate(i)]
                for axes in permutations(range(rank)):
                    if is_kept([axis for axis in axes if axis not in ones]):
                        after = row_major([at[axis] for axis in axes], [one[axis] for axis in axes])
                        yield within(at, one), z3.simplify(after - row_major(at, one), som=True) == 0


def axes_of_size_1():
    """An axis of size 1 can be removed or inserted anywhere, so can reduced axes."""
    for rank in RANKS:
        i, sizes = variables("i", rank), variables("n", rank)
        for count in range(rank + 1):
            for ones in combinations(range(rank), count):
                at = [z3.IntVal(0) if axis in ones else index for axis, index in enumerate(i)]
                one = [z3.IntVal(1) if axis in ones else size for axis, size in enumerate(sizes)]
                kept = [axis for axis in range(rank) if axis not in ones]
                rest = row_major([i[axis] for axis in kept], [sizes[axis] for axis in kept])
                yield within(at, one), z3.simplify(rest - row_major(at, one), som=True) == 0


def cuts(count):
    """All ways to cut a list of axes into runs."""
    for size in range(count):
        for places in combinations(range(1, count), size):
            yield [list(range(start, end)) for start, end in zip((0, *places), (*places, count))]


def joined_axes(moved_runs=lambda runs, axes: [axis for at in axes for axis in runs[at]]):
    """Runs of axes that are joined, moved and separated: the result is that of moving the runs."""
    for rank in RANKS:
        i, sizes = variables("i", rank), variables("n", rank)
        at = lambda axes: row_major([i[axis] for axis in axes], [sizes[axis] for axis in axes])
        for runs in cuts(rank):
            lengths = [z3.Product([sizes[axis] for axis in run]) for run in runs]
            yield [], z3.simplify(row_major([at(run) for run in runs], lengths) - at(range(rank)), som=True) == 0
            for axes in permutations(range(len(runs))):
                joined = row_major([at(runs[run]) for run in axes], [lengths[run] for run in axes])
                yield [], z3.simplify(joined - at(moved_runs(runs, axes)), som=True) == 0


def reshapes():
    """The last of several reshapes determines the result: the element at a row-major index is the same in all."""
    x, i, f = elements("x", 1), z3.Int("i"), function("f", 2)
    c = z3.Const("c", ELEMENT)
    reshaped = [x(i), x(i)]
    yield [], reshaped[0] == reshaped[1]
    yield [], f(reshaped[0], c) == f(reshaped[1], c)
    yield from axes_of_size_1()


def same_shape():
    yield from identity_transpose()
    for rank in RANKS:
        x, i, sizes = elements("x", rank), variables("i", rank), variables("n", rank)
        yield within(i, sizes), x(*[z3.If(size == 1, 0, index) for size, index in zip(sizes, i)]) == x(*i)


def slice_of_all(is_forward=True):
    """A slice of an axis by ONNX's rules for starts and ends, with steps up to 4."""
    x, i, n, start, end = elements("x", 1), *map(z3.Int, ("i", "n", "start", "end"))
    clamped = [
        z3.If(bound < 0, z3.If(bound + n < 0, 0, bound + n), z3.If(bound > n, n, bound)) for bound in (start, end)
    ]
    for step in (1, 2, 3, 4):
        length = ceiling(clamped[1] - clamped[0], step)
        yield [n >= 0, z3.If(length < 0, 0, length) == n, 0 <= i, i < n], x(clamped[0] + step * i) == x(i)
    if not is_forward:
        low, high = (z3.If(bound < 0, bound + n, bound) for bound in (start, end))
        yield [n >= 0, low - high == n, low == n - 1, 0 <= i, i < n], x(low - i) == x(i)


def pad_of_nothing(before=0):
    x, i, n = elements("x", 1), z3.Int("i"), z3.Int("n")
    zero = z3.Const("padding", ELEMENT)
    padded = z3.If(z3.And(i >= before, i < n + before), x(i - before), zero)
    yield [0 <= i, i < n], padded == x(i)


def tile_of_one(count=1):
    x, i, n = elements("x", 1), z3.Int("i"), z3.Int("n")
    yield [0 <= i, i < n * count], x(i % n) == x(i)


def slice_of_slice(last=lambda start, length, step: start + (length - 1) * step):
    """Steps from 1 to 4. The end that is written is clamped to the size, which leaves the number of elements."""
    x, i, n, s, t, k, m = elements("x", 1), *map(z3.Int, ("i", "n", "s", "t", "k", "m"))
    for inner in (1, 2, 3, 4):
        for outer in (1, 2, 3, 4):
            facts = [
                s >= 0,
                t >= 0,
                k >= 0,
                m >= 0,
                z3.Or(k == 0, last(s, k, inner) < n),
                z3.Or(m == 0, last(t, m, outer) < k),
            ]
            start, step = s + t * inner, inner * outer
            yield facts + [0 <= i, i < m], z3.And(
                x(s + inner * (t + outer * i)) == x(start + step * i), start + step * i < n
            )
            end = z3.If(start + m * step > n, n, start + m * step)
            length = ceiling(end - z3.If(start > n, n, start), step)
            yield facts + [n >= 0], z3.If(length < 0, 0, length) == m


def joined(parts):
    """The element at an index of a concatenation of parts: pairs of size and elements by index."""

    def at(i):
        result, start = None, z3.IntVal(0)
        cases = []
        for size, part in parts:
            cases.append((start + size, part, start))
            start = start + size
        for end, part, first in reversed(cases):
            result = part(i - first) if result is None else z3.If(i < end, part(i - first), result)
        return result

    return at


def concat_of_concat():
    a, b, c, i, p, q, r = *(elements(name, 1) for name in "abc"), *map(z3.Int, "ipqr")
    inner = joined([(p, a), (q, b)])
    left, right = joined([(p + q, inner), (r, c)]), joined([(p, a), (q, b), (r, c)])
    yield [p >= 0, q >= 0, r >= 0, 0 <= i, i < p + q + r], left(i) == right(i)
    left = joined([(r, c), (p + q, inner)])
    yield [p >= 0, q >= 0, r >= 0, 0 <= i, i < p + q + r], left(i) == joined([(r, c), (p, a), (q, b)])(i)


def adjacent_slices(gap=0):
    x, i, s, p, q = elements("x", 1), *map(z3.Int, "ispq")
    both = joined([(p, lambda at: x(s + at)), (q, lambda at: x(s + p + gap + at))])
    yield [p >= 0, q >= 0, 0 <= i, i < p + q], both(i) == x(s + i)


def slice_of_concat(is_covered=True):
    """The step is 1, or the range is one index."""
    x, y, z, i, p, q, r, a, b = *(elements(name, 1) for name in "xyz"), *map(z3.Int, "ipqrab")
    whole = joined([(p, x), (q, y), (r, z)])
    covered = [a >= p, b <= p + q] if is_covered else [a >= p]
    yield [p >= 0, q >= 0, r >= 0, 0 <= a, 0 <= i, i < b - a, b <= p + q + r, *covered], whole(a + i) == y(a - p + i)


def elementwise_on_slices(is_same=True):
    x, f, i, s, p, q = elements("x", 1), function("f", 2), *map(z3.Int, "ispq")
    c, e = z3.Const("c", ELEMENT), z3.Const("c" if is_same else "e", ELEMENT)
    left = joined([(p, lambda at: f(x(s + at), c)), (q, lambda at: f(x(s + p + at), e))])
    yield [p >= 0, q >= 0, 0 <= i, i < p + q], left(i) == f(x(s + i), c)


def broadcast(a, b):
    return z3.If(a == 1, b, a)


def fits(a, b):
    return z3.Or(a == b, a == 1, b == 1)


def without_expand(is_covered=True):
    """On one axis: x is expanded to e and broadcast with y; each size of the result is that of x or of y."""
    a, e, b, i = map(z3.Int, "aebi")
    x, y, f = elements("x", 1), elements("y", 1), function("f", 2)
    expanded = broadcast(a, e)
    size = broadcast(expanded, b)
    index = lambda own, at: z3.If(own == 1, 0, at)
    covered = [z3.Or(size == a, size == b)] if is_covered else []
    facts = [a >= 0, b >= 0, e >= 0, fits(a, e), fits(expanded, b), *covered]
    left = f(x(index(a, index(expanded, i))), y(index(b, i)))
    yield facts + [0 <= i, i < size], z3.And(
        left == f(x(index(a, i)), y(index(b, i))), fits(a, b), broadcast(a, b) == size
    )
    yield facts, z3.And(fits(a, b), broadcast(a, b) == size)


def cast_of_repeated():
    x, f, i, n = elements("x", 1), function("cast", 1), z3.Int("i"), z3.Int("n")
    at = z3.If(n == 1, 0, i)
    yield [], f(x(at)) == (lambda j: f(x(j)))(at)


def index_of_size_1():
    """x[[k]] has the axis that x[k] lacks, at the place where the row-major index does not depend on it."""
    for rank in RANKS:
        i, sizes, k = variables("i", rank), variables("n", rank), z3.Int("k")
        x = elements("x", rank)
        for axis in range(rank):
            rest = [at for at in range(rank) if at != axis]
            one = [z3.IntVal(1) if at == axis else size for at, size in enumerate(sizes)]
            zero = [z3.IntVal(0) if at == axis else index for at, index in enumerate(i)]
            flat = row_major([i[at] for at in rest], [sizes[at] for at in rest])
            yield [], z3.simplify(row_major(zero, one) - flat, som=True) == 0
            picked = [k + zero[axis] if at == axis else index for at, index in enumerate(i)]
            yield [], x(*picked) == x(*[k if at == axis else index for at, index in enumerate(i)])


def filled():
    value = z3.Const("value", ELEMENT)
    x = lambda *indices: value
    for rank in RANKS:
        yield [], x(*variables("i", rank)) == x(*variables("j", rank))


def function_of_rows(is_row=True):
    w, rows, f = elements("w", 2), z3.Function("i", z3.IntSort(), z3.IntSort()), function("f", 2)
    j, k = z3.Int("j"), z3.Int("k")
    c = elements("c", 2)
    of = (lambda row: c(0, k)) if is_row else (lambda row: c(row, k))
    table = lambda row, column: f(w(row, column), of(row))
    yield [], f(w(rows(j), k), of(j)) == table(rows(j), k)


FORM = "indices at ranks 1 to 4, sizes not fixed"
# The laws of a rule: a function, and what is assumed.
LAWS = {
    "transposes": (transposes, "all permutations"),
    "identity transpose": (identity_transpose, "the axes keep their order"),
    "same shape": (same_shape, "the shape of the result is that of the input"),
    "slice of all": (slice_of_all, "the step is positive; steps up to 4"),
    "pad of nothing": (pad_of_nothing, "all pads are 0"),
    "tile of one": (tile_of_one, "all counts are 1"),
    "reshapes": (reshapes, ""),
    "reshape after a transpose": (ones_moved, "axes whose size is not 1 keep their order"),
    "transpose after a reshape": (ones_moved, "axes whose size is not 1 keep their order"),
    "transpose of joined axes": (joined_axes, "each run of joined axes is separated again"),
    "transposes around an elementwise operator": (around_elementwise, "other operands have one element"),
    "reshapes around an elementwise operator": (reshapes, "other operands have one element"),
    "reshape after a reduction": (axes_of_size_1, ""),
    "slice of a slice": (slice_of_slice, "steps from 1 to 4"),
    "concatenation of concatenations": (concat_of_concat, "the axes are equal"),
    "concatenation of adjacent slices": (adjacent_slices, "each slice begins where that before it ends"),
    "slice of a concatenation": (slice_of_concat, "the range is within one input"),
    "element of a concatenation": (slice_of_concat, "the index is within one input"),
    "elementwise operators on slices": (elementwise_on_slices, "other operands are equal on all slices"),
    "expand before a broadcast": (without_expand, "each size of the result is that of an operand"),
    "cast of repeated elements": (cast_of_repeated, ""),
    "index of size 1": (index_of_size_1, ""),
    "slice of size 1": (index_of_size_1, ""),
    "part of a filled tensor": (filled, ""),
    "function of selected rows": (function_of_rows, "other operands are equal for all rows"),
}
