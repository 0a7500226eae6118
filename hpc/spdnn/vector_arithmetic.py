"""Arithmetic on the vectors of `hpc.spdnn.vectors`, lane by lane and over the lanes.

See there for what the function of an intrinsic gets and returns.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.extending import intrinsic

from hpc.spdnn.vectors import INT32, Vector, call_llvm, spread


def _bits(vector: Any) -> int:
    return 64 if isinstance(vector.element, ir.DoubleType) else 32


@intrinsic
def add_scaled(typing: Any, total: Any, scale: Any, vector: Any) -> Any:
    """add_scaled(total, scale, vector): total + scale · vector, rounded once (fma).

    Parameters
    ----------
    typing, total, scale, vector : numba's context, types of a Vector, its element and a Vector

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, scale, vector = arguments
        name = f"llvm.fma.v{vector.type.count}f{_bits(vector.type)}"
        factors = [spread(builder, vector.type, scale), vector, total]
        return call_llvm(builder, name, vector.type, factors)

    return total(total, total.element, vector), code


@intrinsic
def add_product(typing: Any, total: Any, left: Any, right: Any) -> Any:
    """add_product(total, left, right): total + left · right lane by lane, rounded once (fma).

    Parameters
    ----------
    typing, total, left, right : numba's context, one Vector type three times

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, left, right = arguments
        name = f"llvm.fma.v{left.type.count}f{_bits(left.type)}"
        return call_llvm(builder, name, left.type, [left, right, total])

    return total(total, left, right), code


@intrinsic
def add(typing: Any, left: Any, right: Any) -> Any:
    """add(left, right): the sum lane by lane.

    Parameters
    ----------
    typing, left, right : numba's context, one Vector type twice

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return left(left, right), code


@intrinsic
def clamp(typing: Any, vector: Any, shift: Any, low: Any, high: Any) -> Any:
    """clamp(vector, shift, low, high): vector + shift, raised to low, cut at high; keeps NaN.

    Parameters
    ----------
    typing, vector, shift, low, high : numba's context, types of a Vector and three numbers

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        shift, low, high = (spread(builder, kind, scalar) for scalar in arguments[1:])
        shifted = builder.fadd(arguments[0], shift)
        raised = builder.select(builder.fcmp_ordered("<", shifted, low), low, shifted)
        return builder.select(builder.fcmp_ordered(">", raised, high), high, raised)

    return vector(vector, vector.element, vector.element, vector.element), code


@intrinsic
def total_of(typing: Any, vector: Any) -> Any:
    """total_of(vector): the sum of the lanes, as a tree: a fixed order for a number of lanes.

    Parameters
    ----------
    typing, vector : numba's context, type of a Vector of 2ⁿ lanes

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        while value.type.count > 1:
            half = value.type.count // 2
            lower, upper = (
                builder.shuffle_vector(
                    value,
                    ir.Constant(value.type, ir.Undefined),
                    ir.Constant(ir.VectorType(INT32, half), list(range(start, start + half))),
                )
                for start in (0, half)
            )
            value = builder.fadd(lower, upper)
        return builder.extract_element(value, ir.Constant(INT32, 0))

    return vector.element(vector), code


@intrinsic
def totals_of(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """totals_of(eight vectors): their sums of lanes, as a vector of eight lanes.

    Each is summed as a tree: even lanes to odd ones.

    Parameters
    ----------
    typing, a, b, c, d, e, f, g, h : numba's context, one Vector type eight times

    Returns
    -------
    Signature and code generator
    """
    kind = Vector(a.element, 8)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors, left = list(arguments), a.lanes
        while len(vectors) > 1 and left > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [_even_to_odd(builder, *pair) for pair in pairs]
            left //= 2
        while left > 1:
            vectors = [_even_to_odd(builder, vectors[0])]
            left //= 2
        while len(vectors) > 1:
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [_lanes(builder, one, two, range(2 * a.lanes)) for one, two in pairs]
        return vectors[0]

    return kind(a, b, c, d, e, f, g, h), code


def _even_to_odd(builder: Any, one: Any, two: Any = None) -> Any:
    """Return the sums of neighbouring lanes of one vector or two, those of the first first."""
    count = one.type.count * (1 if two is None else 2)
    other = ir.Constant(one.type, ir.Undefined) if two is None else two
    even, odd = (_lanes(builder, one, other, range(start, count, 2)) for start in (0, 1))
    return builder.fadd(even, odd)


def _lanes(builder: Any, one: Any, two: Any, chosen: Any) -> Any:
    mask = ir.Constant(ir.VectorType(INT32, len(chosen)), list(chosen))
    return builder.shuffle_vector(one, two, mask)


@intrinsic
def or_bits(typing: Any, left: Any, right: Any) -> Any:
    """or_bits(left, right): the bits of either, lane by lane.

    Parameters
    ----------
    typing, left, right : numba's context, one Vector type twice

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        bits = ir.VectorType(ir.IntType(_bits(kind)), kind.count)
        either = builder.or_(*(builder.bitcast(vector, bits) for vector in arguments))
        return builder.bitcast(either, kind)

    return left(left, right), code
