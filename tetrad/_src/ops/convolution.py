"""Convolutions in every layout, stride, dilation and grouping, and their derivatives.

What comes in: lhs and rhs (the kernel), and how their axes are called
(`ConvDimensionNumbers`). What goes out: out[n, o, p] = Σ lhs[n, c, p·stride + k·dilation −
low] · rhs[o, c, k], in the layout asked for.

The three products that training needs (the result, and the derivatives by lhs and by
rhs) are convolutions again. On the CPU a kernel made by hand computes each of them: see
`patches`.

Read `ConvDimensionNumbers`, `ConvGeneralDilated` with its rules, then the public functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Kind, Linear, Op
from tetrad._src.ops.algorithms import Algorithm, by_algorithm, check_operands, written
from tetrad._src.ops.contract import Precision, canonical_precision, is_algorithm
from tetrad._src.ops.convert import canonical, convert_element_type
from tetrad._src.ops.families import Operand, check_operand
from tetrad._src.ops.patches import Problem, convolved, split_to
from tetrad._src.ops.shape import ints, moveaxis, reshape, rev, transpose
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.ops.windows import Pairs, Sliding, pad_pairs, padding_text

Shape = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """Which axes of lhs, rhs and the result are what.

    `lhs_spec` lists the axes (batch, feature, spatial…), `rhs_spec` (out feature, in
    feature, spatial…), `out_spec` (batch, feature, spatial…).
    """

    lhs_spec: Shape
    rhs_spec: Shape
    out_spec: Shape


# For annotations of the parameter `dimension_numbers`.
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


class ConvGeneralDilated(Op):
    """Slides the kernel `rhs` over `lhs`, and sums the products over the features.

    `lhs_dilation` spreads lhs, `rhs_dilation` the kernel. Features fall into
    `feature_group_count` groups that do not mix; `batch_group_count` does the same for the
    batch. `preferred_element_type` is the dtype of sums and result.
    Source: https://openxla.org/stablehlo/spec#convolution
    """

    window_strides: Shape
    padding: Pairs
    lhs_dilation: Shape
    rhs_dilation: Shape
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int = 1
    batch_group_count: int = 1
    precision: tuple[Precision, Precision] | Algorithm | None = None
    preferred_element_type: Any = None

    kind = Kind.OPAQUE
    accepts = "fcuib"
    linear = ((0,), (1,))
    aligned = False

    def type(self, lhs: Aval, rhs: Aval) -> Aval:
        self.check(lhs, rhs)
        numbers = self.dimension_numbers
        shape = [0] * lhs.ndim
        batch, feature, *spatial = numbers.out_spec
        shape[batch] = lhs.shape[numbers.lhs_spec[0]] // self.batch_group_count
        shape[feature] = rhs.shape[numbers.rhs_spec[0]]
        for axis, extent in zip(spatial, self.places(lhs, rhs)):
            shape[axis] = extent
        return Aval(shape, self.preferred_element_type or lhs.dtype)

    def check(self, lhs: Aval, rhs: Aval) -> None:
        """Raises unless the operands fit each other and the parameters."""
        name = "lax.conv_general_dilated"
        if lhs.dtype != rhs.dtype:
            raise TypeError(
                f"{name} needs operands of one dtype, got {lhs.long_name()} and"
                f" {rhs.long_name()}"
            )
        numbers = self.dimension_numbers
        groups, batches = self.feature_group_count, self.batch_group_count
        if groups < 1 or batches < 1 or groups > 1 and batches > 1:
            raise ValueError(
                f"{name}: feature_group_count and batch_group_count must be positive, and"
                f" one of them 1, got {groups} and {batches}"
            )
        features = lhs.shape[numbers.lhs_spec[1]]
        taken = rhs.shape[numbers.rhs_spec[1]]
        if features != taken * groups:
            raise ValueError(
                f"{name}: lhs has {features} features and rhs takes {taken} in each of"
                f" {groups} groups; lhs: {lhs.long_name()} with its features on axis"
                f" {numbers.lhs_spec[1]}, rhs: {rhs.long_name()} with its input features"
                f" on axis {numbers.rhs_spec[1]}"
            )
        made, count = rhs.shape[numbers.rhs_spec[0]], max(groups, batches)
        if made % count or lhs.shape[numbers.lhs_spec[0]] % batches:
            raise ValueError(
                f"{name}: {count} groups do not divide the {made} output features of rhs"
                f" or the batch of {lhs.long_name()}"
            )

    def sliding(self, lhs: Aval, rhs: Aval) -> Sliding:
        """How the kernel slides along the spatial axes."""
        kernel = tuple([rhs.shape[a] for a in self.dimension_numbers.rhs_spec[2:]])
        return Sliding(
            kernel,
            self.window_strides,
            self.padding,
            self.lhs_dilation,
            self.rhs_dilation,
        )

    def places(self, lhs: Aval, rhs: Aval) -> Shape:
        """The extents of the result along the spatial axes."""
        extents = tuple([lhs.shape[a] for a in self.dimension_numbers.lhs_spec[2:]])
        return self.sliding(lhs, rhs).out_shape(extents)

    # -- derivatives -----------------------------------------------------------------

    def transpose(self, ct: Any, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        if isinstance(lhs, Linear):
            return self.by_lhs(ct, lhs.aval, rhs), None
        return None, self.by_rhs(ct, lhs, rhs.aval)

    def by_lhs(self, ct: Any, lhs: Aval, rhs: Any) -> Any:
        """The cotangent of lhs: the turned kernel slides over ct."""
        numbers = self.dimension_numbers
        kernel = aval_of(rhs)
        how = self.sliding(lhs, kernel)
        extents = [lhs.shape[a] for a in numbers.lhs_spec[2:]]
        places = how.out_shape(tuple(extents))
        padding = []
        for n, out, reach, s, base, (low, _) in zip(
            extents,
            places,
            how.reach(),
            self.window_strides,
            self.lhs_dilation,
            self.padding,
        ):
            first = reach - 1 - low
            wanted = max(n - 1, 0) * base + min(n, 1) + reach - 1
            padding.append(
                (first, wanted - first - (max(out - 1, 0) * s + min(out, 1)))
            )
        turned = rev(convert_element_type(rhs, aval_of(ct).dtype), numbers.rhs_spec[2:])
        groups, batches = self.feature_group_count, self.batch_group_count
        out_axis, in_axis = numbers.rhs_spec[:2]
        if groups > 1:
            turned = split_to(turned, out_axis, groups, in_axis)
        elif batches > 1:
            turned = split_to(turned, out_axis, batches, in_axis)
        swapped = ConvDimensionNumbers(
            numbers.out_spec,
            (in_axis, out_axis, *numbers.rhs_spec[2:]),
            numbers.lhs_spec,
        )
        op = ConvGeneralDilated(
            self.lhs_dilation,
            tuple(padding),
            self.window_strides,
            self.rhs_dilation,
            swapped,
            max(groups, batches),
            1,
            self.precision,
            lhs.dtype,
        )
        out = op(ct, turned)
        if batches > 1:
            # The groups are features of the result, and belong to the batch of lhs.
            out = split_to(out, numbers.lhs_spec[1], batches, numbers.lhs_spec[0])
        return convert_element_type(out, lhs.dtype)

    def by_rhs(self, ct: Any, lhs: Any, rhs: Aval) -> Any:
        """The cotangent of rhs: ct slides over lhs, batch and features changing places."""
        numbers = self.dimension_numbers
        moved = aval_of(lhs)
        how = self.sliding(moved, rhs)
        extents = tuple([moved.shape[a] for a in numbers.lhs_spec[2:]])
        padding = self._padding_by_rhs(how, extents)
        groups, batches = self.feature_group_count, self.batch_group_count
        batch, feature, *spatial = numbers.lhs_spec
        lhs = convert_element_type(lhs, aval_of(ct).dtype)
        out_batch, out_feature, *out_spatial = numbers.out_spec
        out_axis, in_axis, *kernel_axes = numbers.rhs_spec
        swapped = ConvDimensionNumbers(
            (feature, batch, *spatial),
            (out_feature, out_batch, *out_spatial),
            (in_axis, out_axis, *kernel_axes),
        )
        op = ConvGeneralDilated(
            self.rhs_dilation,
            padding,
            self.lhs_dilation,
            self.window_strides,
            swapped,
            batches,
            groups,
            self.precision,
            rhs.dtype,
        )
        return convert_element_type(op(lhs, ct), rhs.dtype)

    def _padding_by_rhs(self, how: Sliding, extents: Shape) -> Pairs:
        """The padding of lhs under which exactly the places of the kernel come out."""
        pairs = []
        dilated = [
            max(n - 1, 0) * d + min(n, 1) for n, d in zip(extents, self.lhs_dilation)
        ]
        for n, out, reach, s, (low, _) in zip(
            dilated,
            how.out_shape(extents),
            how.reach(),
            self.window_strides,
            self.padding,
        ):
            spread = max(out - 1, 0) * s + min(out, 1)
            pairs.append((low, spread + reach - 1 - n - low))
        return tuple(pairs)

    def batch(self, axis: Axis, mapped: Sequence[bool], lhs: Any, rhs: Any) -> Any:
        numbers = self.dimension_numbers
        if axis.size == 0:  # the extents of a lane cannot be told from what is joined
            lanes = [
                aval.drop((0,)) if on else aval
                for aval, on in zip((aval_of(lhs), aval_of(rhs)), mapped)
            ]
            out = self.type(*lanes)
            zero = np.zeros((), out.dtype)
            return broadcast_in_dim(zero, (0, *out.shape), ())
        if mapped[0] and mapped[1]:
            return self.batch_both(axis, lhs, rhs)
        out_batch, out_feature = numbers.out_spec[:2]
        if mapped[0]:
            if self.batch_group_count > 1:
                return self.batch_both(axis, lhs, _repeated(rhs, axis.size))
            joined = _merged(lhs, numbers.lhs_spec[0])
            return _parted(self(joined, rhs), out_batch, axis.size)
        groups = max(self.feature_group_count, self.batch_group_count)
        if groups > 1:
            return self.batch_both(axis, _repeated(lhs, axis.size), rhs)
        joined = _merged(rhs, numbers.rhs_spec[0])
        return _parted(self(lhs, joined), out_feature, axis.size)

    def batch_both(self, axis: Axis, lhs: Any, rhs: Any) -> Any:
        """Each lane is a group of its own."""
        numbers = self.dimension_numbers
        lhs_axis = numbers.lhs_spec[0 if self.batch_group_count > 1 else 1]
        counts = [self.feature_group_count, self.batch_group_count]
        counts[self.batch_group_count > 1] *= axis.size
        op = self.like(feature_group_count=counts[0], batch_group_count=counts[1])
        out = op(_merged(lhs, lhs_axis), _merged(rhs, numbers.rhs_spec[0]))
        return _parted(out, numbers.out_spec[1], axis.size)

    def like(self, **changes: Any) -> ConvGeneralDilated:
        return type(self)(**{**self.params, **changes})

    # -- the machines -----------------------------------------------------------------

    def expand(self, lhs: Any, rhs: Any) -> Any:
        if is_algorithm(self.precision):
            return self._by_algorithm(lhs, rhs)
        return expanded(self, lhs, rhs)

    def _by_algorithm(self, lhs: Any, rhs: Any) -> Any:
        def product(lhs: Any, rhs: Any, dtype: Any) -> Any:
            op = self.like(precision=None, preferred_element_type=dtype)
            return op(lhs, rhs)

        out = self.type(aval_of(lhs), aval_of(rhs)).dtype
        algorithm: Any = self.precision
        return by_algorithm(algorithm, product, lhs, rhs, out)

    def hlo(self, emit: Any, lhs: Any, rhs: Any) -> Any:
        if is_algorithm(self.precision):
            return written(emit, self._by_algorithm, lhs, rhs)
        numbers = self.dimension_numbers

        def named(spec: Shape, first: str, second: str) -> str:
            names = [""] * len(spec)
            names[spec[0]], names[spec[1]] = first, second
            for i, axis in enumerate(spec[2:]):
                names[axis] = str(i)
            return "[" + ", ".join(names) + "]"

        layout = (
            f"#stablehlo.conv<{named(numbers.lhs_spec, 'b', 'f')}x"
            f"{named(numbers.rhs_spec, 'o', 'i')}->{named(numbers.out_spec, 'b', 'f')}>"
        )
        pair: Any = self.precision or (Precision.DEFAULT,) * 2
        kind = [p.name for p in pair]
        return emit(
            "stablehlo.convolution",
            lhs,
            rhs,
            window_strides=self.window_strides,
            padding=padding_text(self.padding),
            lhs_dilation=self.lhs_dilation,
            rhs_dilation=self.rhs_dilation,
            dimension_numbers=layout,
            feature_group_count=self.feature_group_count,
            batch_group_count=self.batch_group_count,
            precision_config="["
            + ", ".join([f"#stablehlo<precision {name}>" for name in kind])
            + "]",
        )


# ------------------------------------------------------------------ axes split and joined


def _merged(x: Any, axis: int) -> Any:
    """Joins the mapped axis 0 with axis `axis` of a lane, in front of it."""
    x = moveaxis(x, 0, axis)
    shape = aval_of(x).shape
    return reshape(
        x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    )


def _repeated(x: Any, size: int) -> Any:
    """The same for each lane, along a new axis 0."""
    shape = aval_of(x).shape
    return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))


def _parted(x: Any, axis: int, size: int) -> Any:
    """The opposite: the lanes, from the front of axis `axis`, as axis 0."""
    shape = aval_of(x).shape
    x = reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))
    return moveaxis(x, axis, 0)


def expanded(op: ConvGeneralDilated, lhs: Any, rhs: Any) -> Any:
    """The convolution in terms of hand-made kernels and products."""
    numbers = op.dimension_numbers
    out = op.type(aval_of(lhs), aval_of(rhs))
    how = op.sliding(aval_of(lhs), aval_of(rhs))
    computed = (
        np.dtype(np.float32)
        if out.dtype.itemsize <= 2 and out.kind == "f"
        else out.dtype
    )
    lhs, rhs = convert_element_type(lhs, computed), convert_element_type(rhs, computed)
    groups = op.feature_group_count
    batch, feature, *spatial = numbers.lhs_spec
    if op.batch_group_count > 1:
        groups = op.batch_group_count
        lhs = split_to(lhs, batch, groups, feature)
    lhs = transpose(lhs, (batch, *spatial, feature))
    made, taken, *kernel = numbers.rhs_spec
    rhs = transpose(rhs, (*kernel, taken, made))
    empty = 0 in (out.size, aval_of(lhs).size, aval_of(rhs).size)
    result = convolved(lhs, rhs, Problem(how, groups), empty)
    order = [0] * out.ndim
    out_batch, out_feature, *out_spatial = numbers.out_spec
    for i, axis in enumerate((out_batch, *out_spatial, out_feature)):
        order[axis] = i
    return convert_element_type(transpose(result, order), out.dtype)


# ------------------------------------------------------------------- public functions


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: Any,
) -> ConvDimensionNumbers:
    """Which axes of lhs, rhs and the result are what, from how users call them.

    `dimension_numbers` is None (N C and the spatial axes; O I and the spatial axes), or
    three strings such as ("NHWC", "HWIO", "NHWC"), or `ConvDimensionNumbers`.

    >>> from tetrad import lax
    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    ndim = len(lhs_shape)
    if len(rhs_shape) != ndim:
        raise ValueError(
            "lax.conv_general_dilated: conv_general_dilated lhs and rhs must have the same"
            " number of dimensions, got"
            f" {ndim} and {len(rhs_shape)}"
        )
    if dimension_numbers is None:
        order = tuple(range(ndim))
        return ConvDimensionNumbers(order, order, order)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    specs = tuple(dimension_numbers)
    if len(specs) != 3 or any(len(spec) != ndim for spec in specs):
        raise ValueError(
            "lax.conv_general_dilated: dimension_numbers must be three names of axes, such"
            f' as ("NHWC", "HWIO", "NHWC"), with {ndim} letters each, got'
            f" {dimension_numbers!r}"
        )
    if all(isinstance(spec, str) for spec in specs):
        lhs, rhs, out = specs
        return ConvDimensionNumbers(
            _spec(lhs, "NC", rhs, "OI"),
            _spec(rhs, "OI", rhs, "OI"),
            _spec(out, "NC", rhs, "OI"),
        )
    return ConvDimensionNumbers(*[ints(spec, "conv_general_dilated") for spec in specs])


def _spec(names: str, own: str, order: str, kernel: str) -> Shape:
    """The axes of a layout: two named ones, then the spatial ones in the kernel's order."""
    spatial = [c for c in order if c not in kernel]
    if sorted(names) != sorted([*own, *spatial]):
        raise ValueError(
            f"lax.conv_general_dilated: the layout {names!r} must have the letters {own} and"
            f" the spatial axes {''.join(spatial)} of the kernel {order!r}, each once"
        )
    return tuple([names.index(c) for c in (*own, *spatial)])


def conv_general_dilated(
    lhs: Operand,
    rhs: Operand,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """Slides a kernel over an array and sums the products over features.

    out[n, o, p] = Σ lhs[n, c, p·stride + k·rhs_dilation − low] · rhs[o, c, k] over c and k,
    where lhs is surrounded by zeros and spread by `lhs_dilation`.

    Args:
      lhs: the array, by default (batch, feature, spatial…).
      rhs: the kernel, by default (out feature, in feature, spatial…).
      window_strides: how far the kernel moves along each spatial axis.
      padding: "SAME", "SAME_LOWER", "VALID", or (low, high) for each spatial axis, which may
        be negative.
      lhs_dilation, rhs_dilation: how far elements are spread.
      dimension_numbers: the layouts, such as ("NHWC", "HWIO", "NHWC").
      feature_group_count, batch_group_count: groups that do not mix.
      precision: as `lax.dot_general` takes it.
      preferred_element_type: the dtype of the sums and of the result.

    TypeError if dtypes differ, ValueError if extents, groups or layouts do not fit.
    Source: https://openxla.org/stablehlo/spec#convolution

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x = jnp.arange(5.0).reshape(1, 1, 5)
    >>> lax.conv_general_dilated(x, jnp.ones((1, 1, 3)), (1,), "VALID")
    Array([[[3., 6., 9.]]], dtype=float32)
    """
    name = "conv_general_dilated"
    if out_sharding is not None:
        raise NotImplementedError("out_sharding must be None: arrays are on one device")
    lhs, rhs = check_operand(lhs, name), check_operand(rhs, name, 1)
    left, right = aval_of(lhs), aval_of(rhs)
    numbers = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    spatial = left.ndim - 2
    strides = _entries("window_strides", window_strides, spatial)
    spread = _entries("lhs_dilation", lhs_dilation, spatial)
    apart = _entries("rhs_dilation", rhs_dilation, spatial)
    extents = [max(left.shape[a] - 1, 0) * d + min(left.shape[a], 1)
               for a, d in zip(numbers.lhs_spec[2:], spread)]  # fmt: skip
    reach = [(right.shape[a] - 1) * d + 1 for a, d in zip(numbers.rhs_spec[2:], apart)]
    if (
        isinstance(padding, str)
        and padding.upper() != "VALID"
        and max(spread, default=1) > 1
    ):
        raise ValueError(
            f"lax.{name}: padding={padding!r} is ambiguous with lhs_dilation; give (low,"
            " high) for each spatial axis, or use lax.conv_transpose"
        )
    pairs = pad_pairs(name, padding, extents, reach, strides)
    preferred = (
        None if preferred_element_type is None else canonical(preferred_element_type)
    )
    how = canonical_precision(precision)
    check_operands(how, aval_of(lhs).dtype, aval_of(rhs).dtype, f"lax.{name}")
    op = ConvGeneralDilated(
        strides,
        pairs,
        spread,
        apart,
        numbers,
        int(feature_group_count),
        int(batch_group_count),
        how,
        preferred,
    )
    return op(lhs, rhs)


def _entries(argument: str, given: Sequence[int] | None, spatial: int) -> Shape:
    if given is None:
        return (1,) * spatial
    found = ints(given, "conv_general_dilated")
    if len(found) != spatial:
        raise ValueError(
            f"lax.conv_general_dilated window and {argument} must have the same number of"
            f" dimensions: there are {spatial} spatial axes, got {given}"
        )
    if any(n < 1 for n in found):
        raise ValueError(
            f"lax.conv_general_dilated: {argument} needs a positive entry for each of the"
            f" {spatial} spatial axes, got {given}"
        )
    return found


def conv(
    lhs: Operand,
    rhs: Operand,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` in its usual layout: lhs (N, C, …), rhs (O, I, …).

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.conv(jnp.ones((1, 2, 4)), jnp.ones((3, 2, 2)), (2,), "VALID").shape
    (1, 3, 2)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Operand,
    rhs: Operand,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` in its usual layout, with padding and dilation.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x, w = jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, w, (1,), [(1, 1)], None, (2,)).shape
    (1, 1, 4)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Operand,
    rhs: Operand,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """The convolution that undoes the shape of one with `strides`: fractional strides.

    "SAME" multiplies spatial extents by the strides, "VALID" also adds what the kernel
    reaches beyond. With `transpose_kernel` the kernel is that of the forward convolution: it
    is turned, and its features change places. By default the axes are (N, …, C) and (…, I, O).

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.conv_transpose(jnp.ones((1, 4, 2)), jnp.ones((3, 2, 5)), (2,), "SAME").shape
    (1, 8, 5)
    """
    name = "conv_transpose"
    lhs, rhs = check_operand(lhs, name), check_operand(rhs, name, 1)
    ndim = aval_of(lhs).ndim
    if dimension_numbers is None:
        letters = "DHW"[5 - ndim :] if 3 <= ndim <= 5 else ""
        if ndim > 5:
            raise ValueError(f"lax.{name}: give dimension_numbers for {ndim} axes")
        layout = f"N{letters}C"
        dimension_numbers = (layout, f"{letters}IO", layout)
    numbers = conv_dimension_numbers(
        aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers
    )
    kernel = [aval_of(rhs).shape[a] for a in numbers.rhs_spec[2:]]
    apart = (1,) * len(kernel) if rhs_dilation is None else ints(rhs_dilation, name)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, apart)]
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(
                f'lax.{name}: padding must be "SAME", "VALID" or (low, high) for each'
                f" spatial axis, got {padding!r}"
            )
        pairs = [
            _transposed_padding(r, s, padding.upper()) for r, s in zip(reach, strides)
        ]
    elif use_consistent_padding:
        pairs = [(r - 1 - lo, r - 1 - hi) for r, (lo, hi) in zip(reach, padding)]
    else:
        pairs = [(lo, hi) for lo, hi in padding]
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        made, taken, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(taken, made, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * len(kernel),
        pairs,
        ints(strides, name),
        apart,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_padding(reach: int, stride: int, word: str) -> tuple[int, int]:
    if word == "SAME":
        total = reach + stride - 2
        low = reach - 1 if stride > reach - 1 else -(-total // 2)
    else:
        total = reach + stride - 2 + max(reach - stride, 0)
        low = reach - 1
    return low, total - low


def conv_general_dilated_patches(
    lhs: Operand,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The patches that a kernel would see, as features: c·(elements of the kernel) + k.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> x = jnp.arange(4.0).reshape(1, 1, 4)
    >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    lhs = check_operand(lhs, "conv_general_dilated_patches")
    aval = aval_of(lhs)
    window = ints(filter_shape, "conv_general_dilated_patches")
    size = math.prod(window)
    shape = (aval.ndim * [1])[:2]
    if dimension_numbers is None or isinstance(dimension_numbers, ConvDimensionNumbers):
        numbers = conv_dimension_numbers(aval.shape, aval.shape, dimension_numbers)
    else:
        left, right, out = dimension_numbers
        numbers = conv_dimension_numbers(aval.shape, aval.shape, (left, right, out))
    features = aval.shape[numbers.lhs_spec[1]]
    eye = convert_element_type(np.eye(size), aval.dtype)
    weights = reshape(eye, (size, 1, *window))
    weights = reshape(
        broadcast_in_dim(
            weights,
            (features, *aval_of(weights).shape),
            tuple(range(1, 3 + len(window))),
        ),
        (features * size, *shape[1:], *window),
    )
    order = [0] * aval.ndim
    for i, axis in enumerate(numbers.rhs_spec):
        order[axis] = i
    return conv_general_dilated(
        lhs,
        transpose(weights, order),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=Precision.HIGHEST if precision is None else precision,
        preferred_element_type=preferred_element_type,
    )
