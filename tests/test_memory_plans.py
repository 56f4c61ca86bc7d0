"""Which values of a plan may share memory: what is refused, and what is planned.

Plans built by hand, whose steps are calls that read some values and write one, are given
places by hand; `check_memory` must refuse those in which two values that both live
overlap, and no others. Programs are given places by the planner.
"""

import numpy as np
import pytest
from compiling import jaxpr_of, run

import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.core.avals import Aval
from tetrad._src.core.check import IllFormed
from tetrad._src.cpu.costs import COSTS
from tetrad._src.passes.check import check_memory, check_plan
from tetrad._src.passes.fuse import fuse
from tetrad._src.passes.ir import Branch, Call, Loop, Plan, Read
from tetrad._src.passes.plan import Memory, allocate
from tetrad._src.passes.simplify import simplify

ROW = Aval((100,), np.dtype("float32"))
NUMBER = Aval((), np.dtype("int32"))

# Two inputs, and values that the steps write.
X, WHICH, EARLY, INSIDE, RESULT, CARRY = range(6)
ARENA = 3  # the slot behind those of the inputs and of the output


def call(*sources, to):
    reads = [Read(source, ROW.dtype, (1,), 0, ()) for source in sources]
    return Call("any", {}, reads, [ROW] * len(reads), [to], [ROW])


def placed(steps, out=RESULT, apart=False):
    """The plan of these steps, and its memory; EARLY and INSIDE have one place."""
    plan = Plan((ROW, NUMBER), (False, False))
    for _ in range(4):
        plan.new_value(ROW)
    plan.steps = steps
    plan.outs = [out]
    check_plan(plan)
    memory = Memory(len(plan.avals))
    memory.slots = [0, 1, ARENA, ARENA, ARENA, ARENA]
    memory.slots[out] = ARENA - 1
    memory.offsets = [0, 0, 0, 512 * apart, 1024, 2048]
    return plan, memory


def in_a_row():
    return [call(X, to=EARLY), call(X, to=INSIDE), call(EARLY, INSIDE, to=RESULT)]


def branched(first, second):
    return [call(X, to=EARLY), Branch(WHICH, [first, second])]


def in_one_block():
    """The block that writes INSIDE reads EARLY after that."""
    first = [call(X, to=INSIDE), call(EARLY, INSIDE, to=RESULT)]
    return branched(first, [call(X, to=RESULT)])


def behind_the_branch():
    first = [call(X, to=INSIDE), call(INSIDE, to=CARRY)]
    second = [call(EARLY, to=CARRY)]
    return [*branched(first, second), call(EARLY, CARRY, to=RESULT)]


def of_other_blocks():
    """Only the block that does not write INSIDE reads EARLY."""
    first = [call(X, to=INSIDE), call(INSIDE, to=RESULT)]
    return branched(first, [call(EARLY, to=RESULT)])


def of_other_blocks_in_a_loop():
    """The next turn may take the block that reads EARLY."""
    early, branch = of_other_blocks()
    loop = Loop(3)
    loop.body = [branch]
    loop.carries = [(RESULT, CARRY)]
    return [early, call(X, to=CARRY), loop]


OVERLAPS = {
    "in a row": (in_a_row, RESULT),
    "in one block": (in_one_block, RESULT),
    "behind the branch": (behind_the_branch, RESULT),
    "in a loop": (of_other_blocks_in_a_loop, CARRY),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_values_that_both_live_may_not_overlap(name):
    steps, out = OVERLAPS[name]
    check_memory(*placed(steps(), out, apart=True))
    with pytest.raises(IllFormed, match=r"v3 and v2 share memory while both live"):
        check_memory(*placed(steps(), out))


def test_blocks_of_which_one_runs_may_share_memory():
    check_memory(*placed(of_other_blocks()))


def two_results_of_a_branch(np, cond, loop):
    """A branch whose blocks write two results, each of which fits over what is carried.

    One of them is carried on; the other one is read beside it. The sorts keep the branch
    from becoming part of a kernel.
    """

    def first(x, w):
        return np.sort(w), x * 0.5, x + 1

    def second(x, w):
        return np.sort(w[::-1]), x + 0.25, x * 3

    def turn(i, state):
        x, w, total = state
        w, x, y = cond(x[0] > 3, first, second, x, w)
        return x, w, np.flip(total) + y

    # If x were given back, it would live in the buffer of an output.
    return lambda x, w: loop(0, 5, turn, (x, w, x * 0))[1:]


def plain_cond(which, first, second, *operands):
    return first(*operands) if which else second(*operands)


def plain_loop(start, end, turn, state):
    for i in range(start, end):
        state = turn(i, state)
    return state


def test_one_result_of_a_branch_is_written_over_what_is_carried():
    args = [np.linspace(0, 1, 1000, dtype="f4"), np.sin(np.arange(1000, dtype="f4"))]
    function = two_results_of_a_branch(jnp, lax.cond, lax.fori_loop)
    plan = fuse(simplify(jaxpr_of(function, args)), (False, False), COSTS)
    (loop,) = [step for step in plan.steps if type(step) is Loop]
    (branch,) = [step for step in loop.body if type(step) is Branch]
    check_memory(plan, allocate(plan, {}))
    wanted = two_results_of_a_branch(np, plain_cond, plain_loop)(*args)
    for got, want in zip(run(function, args), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
