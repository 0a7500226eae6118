"""Vector registers for numba, made, loaded and stored: LLVM vectors of a literal number of lanes.

LLVM lays a vector of more lanes than a register has over several registers, so
a row's sums over 64 columns stay in registers whatever the host's width.
Loads and stores ask for no alignment beyond the element's.

The function of an intrinsic gets numba's typing context and the types of the arguments that
its first line names; it returns the signature of the call and what generates the code.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

INT32 = ir.IntType(32)


class Vector(types.Type):
    """The numba type of `lanes` numbers of type `element`.

    Parameters
    ----------
    element, lanes : numba's float32 or float64, int
    """

    def __init__(self, element: Any, lanes: int) -> None:
        self.element, self.lanes = element, lanes
        super().__init__(f"Vector({element} x {lanes})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """A vector is one LLVM value.

    Parameters
    ----------
    manager, kind : numba's data model manager, Vector
    """

    def __init__(self, manager: Any, kind: Vector) -> None:
        element = ir.FloatType() if kind.element == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(element, kind.lanes))


class WholeNumbers(types.Type):
    """The numba type of `lanes` whole numbers of `bits` bits each; code: its LLVM type.

    Parameters
    ----------
    bits, lanes : int
    """

    def __init__(self, bits: int, lanes: int) -> None:
        self.code = ir.VectorType(ir.IntType(bits), lanes)
        super().__init__(f"WholeNumbers({bits} x {lanes})")


@register_model(WholeNumbers)
class WholeNumbersModel(models.PrimitiveModel):
    """They are one LLVM value.

    Parameters
    ----------
    manager, kind : numba's data model manager, WholeNumbers
    """

    def __init__(self, manager: Any, kind: WholeNumbers) -> None:
        super().__init__(manager, kind, kind.code)


def address(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    """Return the address of a flat array's number at `offset`.

    Parameters
    ----------
    context, builder : numba's target context, llvmlite's IRBuilder
    array_type, array, offset : numba's type of it, LLVM values of array and intp

    Returns
    -------
    LLVM pointer to a number
    """
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset])


def loaded(
    context: Any, builder: Any, array_type: Any, arguments: Any, vector: Any, align: int
) -> Any:
    """Return a vector read from a flat array.

    Parameters
    ----------
    context, builder, array_type : as for `address`
    arguments, vector, align : LLVM values (array, offset, ...), LLVM type of the result, bytes

    Returns
    -------
    LLVM vector
    """
    at = address(context, builder, array_type, *arguments[:2])
    return builder.load(builder.bitcast(at, vector.as_pointer()), align=align)


def spread(builder: Any, vector: Any, scalar: Any) -> Any:
    """Return a vector of LLVM type `vector` with `scalar` in every lane.

    Parameters
    ----------
    builder, vector, scalar : llvmlite's IRBuilder, LLVM vector type, LLVM value

    Returns
    -------
    LLVM vector
    """
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    lanes = ir.Constant(ir.VectorType(INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, lanes)


def call_llvm(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """Call an LLVM intrinsic.

    Parameters
    ----------
    builder, name, result, arguments : IRBuilder, str, LLVM type, list of LLVM values

    Returns
    -------
    LLVM value
    """
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


@intrinsic(prefer_literal=True)
def zeros(typing: Any, like: Any, lanes: Any) -> Any:
    """zeros(array, lanes): a vector of zeros of the array's dtype.

    Parameters
    ----------
    typing, like, lanes : numba's context, types of an array and of a literal

    Returns
    -------
    Signature and code generator
    """
    kind = Vector(like.dtype, lanes.literal_value)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(kind), [0.0] * kind.lanes)

    return kind(like, lanes), code


@intrinsic(prefer_literal=True)
def load(typing: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """load(array, offset, lanes): the numbers array[offset : offset + lanes], flat.

    Parameters
    ----------
    typing, array, offset, lanes : numba's context, types of an array, an intp and a literal

    Returns
    -------
    Signature and code generator
    """
    kind = Vector(array.dtype, lanes.literal_value)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(kind)
        align = array.dtype.bitwidth // 8
        return loaded(context, builder, signature.args[0], arguments, vector, align)

    return kind(array, types.intp, lanes), code


@intrinsic
def item(typing: Any, array: Any, offset: Any) -> Any:
    """item(array, offset): array[offset] of a flat array, offset not negative.

    Indexing costs several instructions more, for offsets from the end.

    Parameters
    ----------
    typing, array, offset : numba's context, types of an array and of an intp

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(address(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.intp), code


@intrinsic
def store(typing: Any, array: Any, offset: Any, vector: Any) -> Any:
    """store(array, offset, vector): array[offset : offset + lanes] = vector, flat.

    Parameters
    ----------
    typing, array, offset, vector : numba's context, types of an array, an intp and a Vector

    Returns
    -------
    Signature and code generator
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = address(context, builder, signature.args[0], *arguments[:2])
        builder.store(
            arguments[2],
            builder.bitcast(at, arguments[2].type.as_pointer()),
            align=array.dtype.bitwidth // 8,
        )
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), code


def lanes_of(number: Any) -> int:
    """Return how many numbers of a numba type fill one vector register of this host.

    Parameters
    ----------
    number : numba's float32 or float64

    Returns
    -------
    int
        Of 512, 256 or 128 bits, by what the host has.
    """
    features = binding.get_host_cpu_features()
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    return int(bits // number.bitwidth)


@intrinsic
def register_lanes(typing: Any, array: Any) -> Any:
    """register_lanes(array): how many of its numbers fill one register.

    Parameters
    ----------
    typing, array : numba's context, type of an array

    Returns
    -------
    Signature and code generator
    """
    lanes = lanes_of(array.dtype)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(types.intp), lanes)

    return types.intp(array), code


@intrinsic(prefer_literal=True)
def no_registers(typing: Any, like: Any, count: Any) -> Any:
    """no_registers(array, count): registers of zeros of the array's dtype, as one vector.

    Parameters
    ----------
    typing, like, count : numba's context, types of an array and of a literal

    Returns
    -------
    Signature and code generator
    """
    kind = Vector(like.dtype, count.literal_value * lanes_of(like.dtype))

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(kind), [0.0] * kind.lanes)

    return kind(like, count), code


@intrinsic(prefer_literal=True)
def load_registers(typing: Any, array: Any, offset: Any, count: Any) -> Any:
    """load_registers(array, offset, count): as many numbers as fill them, flat, as one vector.

    Parameters
    ----------
    typing, array, offset, count : numba's context, types of an array, an intp and a literal

    Returns
    -------
    Signature and code generator
    """
    kind = Vector(array.dtype, count.literal_value * lanes_of(array.dtype))

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(kind)
        align = array.dtype.bitwidth // 8
        return loaded(context, builder, signature.args[0], arguments, vector, align)

    return kind(array, types.intp, count), code
