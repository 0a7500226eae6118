"""Counting set bits in 256 columns at once, for numba: planes of a binary number, bit by bit.

Four words of 64 columns fill a vector. The planes ones, twos, fours ... of the counts
are added like binary numbers are on paper, all columns at the same time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hpc.spdnn.vectors import INT32, Vector, WholeNumbers, loaded, spread

WORDS_TYPE = WholeNumbers(64, 4)
"""Four 64-bit words."""
WORDS = WORDS_TYPE.code
PLANES = 6
"""Binary digits of a count: rows of up to 63 weights."""


@intrinsic
def no_words(typing: Any) -> Any:
    """no_words(): four words of zeros.

    Parameters
    ----------
    typing : numba's typing context

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(WORDS, [0] * 4)

    return WORDS_TYPE(), code


@intrinsic
def load_words(typing: Any, array: Any, offset: Any) -> Any:
    """load_words(array, offset): four words from a flat array.

    Parameters
    ----------
    typing, array, offset : numba's context, types of a uint32 array and of an intp

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return loaded(context, builder, signature.args[0], arguments, WORDS, 4)

    return WORDS_TYPE(array, types.intp), code


@intrinsic
def odd_of(typing: Any, one: Any, two: Any, three: Any) -> Any:
    """odd_of(one, two, three): where an odd number of them is set: the digit of their sum.

    Parameters
    ----------
    typing, one, two, three : numba's context, WORDS_TYPE three times

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, two, three = arguments
        return builder.xor(builder.xor(one, two), three)

    return one(one, two, three), code


@intrinsic
def most_of(typing: Any, one: Any, two: Any, three: Any) -> Any:
    """most_of(one, two, three): where at least two of them are set: what their sum carries.

    Parameters
    ----------
    typing, one, two, three : numba's context, WORDS_TYPE three times

    Returns
    -------
    Signature and code generator, as `vectors` says
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, two, three = arguments
        either = builder.and_(builder.xor(one, two), three)
        return builder.or_(builder.and_(one, two), either)

    return one(one, two, three), code


@intrinsic(prefer_literal=True)
def scaled_counts(typing: Any, like: Any, planes: Any, panel: Any, scale: Any) -> Any:
    """scaled_counts(array, planes, panel, scale): scale · count in the 64 columns of a word.

    Parameters
    ----------
    typing : numba's typing context
    like : type of an array, whose dtype the result has
    planes : type of a tuple of PLANES words, ones first
    panel : type of a literal, which word: 0..3
    scale : type of a number

    Returns
    -------
    Signature and code generator, as `vectors` says
        The result has 64 lanes.
    """
    kind = Vector(like.dtype, 64)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(kind)
        small = ir.VectorType(ir.IntType(8), 64)
        total = ir.Constant(small, [0] * 64)
        number = ir.Constant(INT32, panel.literal_value)
        for digit in range(PLANES):
            plane = builder.extract_value(arguments[1], digit)
            word = builder.extract_element(plane, number)
            columns = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
            value = ir.Constant(small, [1 << digit] * 64)
            total = builder.or_(total, builder.select(columns, value, ir.Constant(small, [0] * 64)))
        wide = builder.zext(total, ir.VectorType(INT32, 64))
        counts = builder.sitofp(wide, vector)
        return builder.fmul(counts, spread(builder, vector, arguments[3]))

    return kind(like, planes, panel, like.dtype), code
