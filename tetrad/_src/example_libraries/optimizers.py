"""Optimizers as three functions: a state from parameters, a step, parameters from a state.

Each is written for one array; `optimizer` makes it one for pytrees. Step sizes are numbers
or schedules, functions of the number of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tetrad import numpy
from tetrad.tree_util import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

jnp: Any = numpy  # arrays have methods that their type does not state

Schedule = Callable[[Any], Any]


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The state of each parameter as leaves, the tree of parameters, and of each state."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, leaves: OptimizerState(*leaves, *trees),
)


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Makes an optimizer of arrays one of pytrees.

    Args:
      opt_maker: a function that returns `init(x)`, giving a state, `update(i, g, state)`,
        giving the next one, and `get_params(state)`, giving x; all for one array x.

    >>> from tetrad.example_libraries import optimizers
    >>> init, update, params = optimizers.sgd(0.5)
    >>> params(update(0, {"w": jnp.array(1.)}, init({"w": jnp.array(3.)})))
    {'w': Array(2.5, dtype=float32, weak_type=True)}
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_all(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _packed([init(x) for x in leaves], tree)

        def update_all(i: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, tree = tree_flatten(gradients)
            if tree != state.tree_def:
                raise TypeError(
                    "optimizer: the gradients must have the structure of the parameters;"
                    f" got {tree} for {state.tree_def}"
                )
            states = [
                update(i, g, s) for g, s in zip(leaves, _states(state), strict=True)
            ]
            new = _packed(states, tree)
            if new.subtree_defs != state.subtree_defs:
                raise TypeError(
                    "optimizer: update must return a state of the structure it got;"
                    f" got {new.subtree_defs} for {state.subtree_defs}"
                )
            return new

        def params_of(state: OptimizerState) -> Any:
            return tree_unflatten(
                state.tree_def, [get_params(s) for s in _states(state)]
            )

        return Optimizer(init_all, update_all, params_of)

    return make


def _packed(states: Sequence[Any], tree: Any) -> OptimizerState:
    flat = [tree_flatten(state) for state in states]
    leaves = tuple(tuple(leaves) for leaves, _ in flat)
    return OptimizerState(leaves, tree, tuple(subtree for _, subtree in flat))


def _states(state: OptimizerState) -> list[Any]:
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree_unflatten(subtree, leaves) for subtree, leaves in pairs]


def _first(state: Any) -> Any:
    return state[0]


# -------------------------------------------------------------------------- optimizers


@optimizer
def sgd(step_size: Any) -> Any:
    """Steps against the gradient: x − step·g."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, x: Any) -> Any:
        return x - step(i) * g

    return (lambda x: x), update, (lambda x: x)


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Steps along a velocity, v ← mass·v + g, x ← x − step·v."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, v = state
        v = mass * v + g
        return x - step(i) * v, v

    return (lambda x: (x, jnp.zeros_like(x))), update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """As `momentum`, but steps along mass·v + g with the new v."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, v = state
        v = mass * v + g
        return x - step(i) * (mass * v + g), v

    return (lambda x: (x, jnp.zeros_like(x))), update, _first


def _inverse_root(x: Any) -> Any:
    """1/√x, and 0 where x is 0."""
    some = x > 0
    return jnp.where(some, 1 / jnp.sqrt(jnp.where(some, x, 1)), 0)


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Gradients over the root of the sum of all their squares, averaged (Duchi, 2011)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + jnp.square(g)
        m = momentum * m + (1 - momentum) * (g * _inverse_root(squares))
        return x - step(i) * m, squares, m

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Gradients over the root of the average of their squares, with decay gamma."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = gamma * squares + (1 - gamma) * jnp.square(g)
        return x - step(i) * g / jnp.sqrt(squares + eps), squares

    return (lambda x: (x, jnp.zeros_like(x))), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9
) -> Any:
    """`rmsprop` whose steps gather a velocity."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, v = state
        squares = gamma * squares + (1 - gamma) * jnp.square(g)
        v = momentum * v + step(i) * g / jnp.sqrt(squares + eps)
        return x - v, squares, v

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, _first


def _unbiased(b: Any, i: Any, dtype: Any) -> Any:
    """1 − b^(i + 1): the weight that an average from 0 has gathered after i + 1 steps."""
    return 1 - jnp.asarray(b, dtype) ** (i + 1)


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """The average gradient over the root of the average square (Kingma and Ba, 2014)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * jnp.square(g)
        mean = m / _unbiased(b1, i, m.dtype)
        square = v / _unbiased(b2, i, m.dtype)
        return x - step(i) * mean / (jnp.sqrt(square) + eps), m, v

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """The average gradient over a decaying maximum (Kingma and Ba, 2014)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, u = state
        m = b1 * m + (1 - b1) * g
        u = jnp.maximum(b2 * u, jnp.abs(g))
        return x - step(i) / _unbiased(b1, i, m.dtype) * m / (u + eps), m, u

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """`adagrad` with a vector of sums for each axis in place of one for each element.

    The least of its sums stands for an element (Anil et al., 2019).
    """
    step = make_schedule(step_size)

    def init(x: Any) -> Any:
        sums = [jnp.zeros(n, x.dtype) for n in jnp.shape(jnp.atleast_1d(x))]
        return x, jnp.zeros_like(x), sums

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, sums = state
        rank = len(sums)
        least = None
        for axis, vector in enumerate(sums):
            shape = [1] * rank
            shape[axis] = -1
            spread = vector.reshape(shape)
            least = spread if least is None else jnp.minimum(least, spread)
        total = least + jnp.square(g)
        scaled = g * _inverse_root(total).reshape(jnp.shape(g))
        m = momentum * m + (1 - momentum) * scaled
        sums = [
            jnp.max(total, tuple(a for a in range(rank) if a != axis))
            for axis in range(rank)
        ]
        return x - step(i) * m, m, sums

    return init, update, _first


# --------------------------------------------------------------------------- schedules


def constant(step_size: Any) -> Schedule:
    """The same step always."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step · rate^(i/steps).

    >>> from tetrad.example_libraries import optimizers
    >>> optimizers.exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """step/(1 + rate·i/steps), with i/steps rounded down if `staircase`."""

    def schedule(i: Any) -> Any:
        time = i / decay_steps
        return step_size / (1 + decay_rate * (jnp.floor(time) if staircase else time))

    return schedule


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """From step to final step along (1 − i/steps)^power, and there it stays."""

    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return final_step_size + (step_size - final_step_size) * left**power

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k], where k is how many of the boundaries are below i."""
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if boundaries.ndim != 1 or values.shape != (boundaries.size + 1,):
        raise ValueError(
            "piecewise_constant: boundaries must be a sequence, and values one that is"
            f" longer by one; got shapes {boundaries.shape} and {values.shape}"
        )
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule as it is, and a number as the schedule that stays there."""
    if callable(scalar_or_schedule):
        schedule: Schedule = scalar_or_schedule
        return schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "make_schedule: a step size must be a number or a function of the step, got an"
        f" array of shape {jnp.shape(scalar_or_schedule)}"
    )


# --------------------------------------------------------------------------- utilities


def l2_norm(tree: Any) -> Any:
    """The root of the sum of squares of all elements of a pytree.

    >>> from tetrad.example_libraries import optimizers
    >>> optimizers.l2_norm([jnp.array(3.), jnp.array([4.])])
    Array(5., dtype=float32)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The pytree, scaled down to `max_norm` if its `l2_norm` is greater."""
    norm = l2_norm(grad_tree)
    return tree_map(
        lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree
    )


class JoinPoint:
    """Holds the state of one parameter, a leaf of what `unpack_optimizer_state` gives."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """A state as the pytree of parameters, with a `JoinPoint` for each."""
    return tree_unflatten(
        opt_state.tree_def, [JoinPoint(s) for s in _states(opt_state)]
    )


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The inverse of `unpack_optimizer_state`."""
    points, tree = tree_flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(
                "pack_optimizer_state: all leaves must be JoinPoints, as"
                f" unpack_optimizer_state makes them; got {type(point).__name__}"
            )
    return _packed([point.subtree for point in points], tree)
