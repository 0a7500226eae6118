"""Vector operations on 0/1 inputs kept as bits, for numba.

A word holds 64 columns. Sixteen lanes of 32 bits hold 128 columns: bit 4 j of lane l is
column l + 16 j. So four rows shifted against each other and or-ed make, in each lane,
eight numbers of four bits that each pick one of the sixteen sums of four weights.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hpc.spdnn.vectors import INT32, Vector, WholeNumbers, address, call_llvm, loaded, spread

LANES_TYPE = WholeNumbers(32, 16)
"""Sixteen 32-bit lanes."""
LANES = LANES_TYPE.code


@intrinsic
def load_lanes(typing: Any, array: Any, offset: Any) -> Any:
    """load_lanes(array, offset): sixteen 32-bit numbers from a flat array.

    Parameters
    ----------
    typing, array, offset : numba's context, types of a uint32 array and of an intp

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return loaded(context, builder, signature.args[0], arguments, LANES, 4)

    return LANES_TYPE(array, types.intp), code


@intrinsic
def store_lanes(typing: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """store_lanes(array, offset, lanes): write sixteen 32-bit numbers to a flat array.

    Parameters
    ----------
    typing, array, offset, lanes : numba's context, types of a uint32 array, an intp and LANES_TYPE

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(at, LANES.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def spread_words(typing: Any, low: Any, high: Any) -> Any:
    """spread_words(low, high): two words of 64 columns as lanes; bit 16 + 4 j is high's.

    Parameters
    ----------
    typing, low, high : numba's context, uint64 twice

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total = ir.Constant(LANES, [0] * 16)
        for word, start in zip(arguments, (0, 16), strict=True):
            for j in range(4):
                shifted = builder.lshr(word, ir.Constant(word.type, 16 * j))
                columns = builder.bitcast(
                    builder.trunc(shifted, ir.IntType(16)), ir.VectorType(ir.IntType(1), 16)
                )
                bit = ir.Constant(LANES, [1 << (start + 4 * j)] * 16)
                total = builder.or_(
                    total, builder.select(columns, bit, ir.Constant(LANES, [0] * 16))
                )
        return total

    return LANES_TYPE(types.uint64, types.uint64), code


@intrinsic
def join(typing: Any, one: Any, two: Any, three: Any, four: Any) -> Any:
    """join(one, two, three, four): number j of each lane is bit 4 j of the four, first lowest.

    Parameters
    ----------
    typing, one, two, three, four : numba's context, LANES_TYPE four times

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shifted = [
            builder.shl(lanes, ir.Constant(LANES, [shift] * 16)) if shift else lanes
            for shift, lanes in enumerate(arguments)
        ]
        return builder.or_(builder.or_(*shifted[:2]), builder.or_(*shifted[2:]))

    return one(one, two, three, four), code


@intrinsic
def sums_of(typing: Any, like: Any, one: Any, two: Any, three: Any, four: Any) -> Any:
    """sums_of(array, one, ..., four): the sum, for i in 0..15, of the weights at i's set bits.

    Parameters
    ----------
    typing, like, one, two, three, four : numba's context, type of an array, four of its numbers'

    Returns
    -------
    Signature and code generator, as `vectors` says
        The result has 16 lanes of the array's dtype.
    """
    kind = Vector(like.dtype, 16)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(kind)
        total = ir.Constant(vector, [0.0] * 16)
        for bit, weight in enumerate(arguments[1:]):
            picked = ir.Constant(
                ir.VectorType(ir.IntType(1), 16), [i >> bit & 1 for i in range(16)]
            )
            added = builder.fadd(total, spread(builder, vector, weight))
            total = builder.select(picked, added, total)
        return total

    return kind(like, *[like.dtype] * 4), code


@intrinsic(prefer_literal=True)
def add_picked(typing: Any, total: Any, sums: Any, numbers: Any, first: Any) -> Any:
    """add_picked(total, sums, numbers, first): add sums[number j] for j = first..first+3.

    Needs AVX-512, and float32.

    Parameters
    ----------
    typing : numba's typing context
    total : type of a vector of 64 columns
    sums, numbers : types of what `sums_of` and `join` give
    first : type of a literal, 0 or 4: which panel of the two

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, sums, numbers, _ = arguments
        picked = []
        for j in range(first.literal_value, first.literal_value + 4):
            index = builder.lshr(numbers, ir.Constant(LANES, [4 * j] * 16)) if j else numbers
            name = "llvm.x86.avx512.permvar.sf.512"
            picked.append(call_llvm(builder, name, sums.type, [sums, index]))
        halves = [_joined(builder, *picked[:2]), _joined(builder, *picked[2:])]
        return builder.fadd(total, _joined(builder, *halves))

    return total(total, sums, numbers, first), code


@intrinsic
def add_where(typing: Any, total: Any, word: Any, weight: Any) -> Any:
    """add_where(total, word, weight): add it to those of 64 columns whose bit is set.

    Parameters
    ----------
    typing, total, word, weight : numba's context, types of 64 columns, a uint64 and a number

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, word, weight = arguments
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
        added = builder.fadd(total, spread(builder, total.type, weight))
        return builder.select(bits, added, total)

    return total(total, types.uint64, total.element), code


def _joined(builder: Any, left: Any, right: Any) -> Any:
    count = 2 * left.type.count
    order = ir.Constant(ir.VectorType(INT32, count), list(range(count)))
    return builder.shuffle_vector(left, right, order)
