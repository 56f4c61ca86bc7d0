"""Products of lax that are summed over axes."""

import numpy as np

from catalogue.row import FLOATS, NUMBERS, Bad, Row, real

F32 = np.zeros((2, 3), np.float32)
# Products are added up in another order than the reference's.
SUM = {"float16": 4, "bfloat16": 4, "float32": 16, "float64": 16, "complex64": 32,
       "complex128": 32}  # fmt: skip


def positive(*shape):
    """No cancellation, so that distances in ULP mean something."""
    return real(0.5, 2, shape=shape)


def product(name, spec, *shapes, dtypes=FLOATS, **more):
    def reference(x, y):
        # Halves are multiplied exactly and added in float32.
        return np.einsum(spec, x, y, dtype=np.result_type(x, y), optimize=False)

    more.setdefault("id", f"{spec} {shapes}")
    return Row(f"lax.{name}", reference, tuple(positive(*s) for s in shapes),
               dtypes=dtypes, ulp=SUM, bits=False, **more)  # fmt: skip


def general(contract, batch=((), ())):
    dims = (contract, batch)
    return {"dimension_numbers": dims}


ROWS = [
    product("dot", "i,i->", (5,), (5,)),
    product("dot", "ij,j->i", (3, 5), (5,)),
    product("dot", "i,ij->j", (3,), (3, 5)),
    product("dot", "ij,jk->ik", (3, 5), (5, 4), dtypes=NUMBERS, errors=(
        Bad(ValueError, r"\[2,3\]", (F32, F32)),)),
    product("dot", "ij,jk->ik", (3, 0), (0, 4)),
    product("dot", "ij,jk->ik", (33, 70), (70, 45), dtypes=("float32", "float64")),
    product("batch_matmul", "aij,ajk->aik", (2, 3, 5), (2, 5, 4), dtypes=NUMBERS,
            errors=(Bad(ValueError, r"\[2,3\].*\[3\]", (F32, F32[0])),)),
    product("dot_general", "ij,jk->ik", (3, 5), (5, 4), params=general(((1,), (0,))),
            errors=(Bad(TypeError, r"\[2,3\].*\[2,3\]",
                        (F32, F32, (((1,), (0,)), ((), ())))),)),
    product("dot_general", "ij,kj->ik", (3, 5), (4, 5), params=general(((1,), (1,)))),
    product("dot_general", "ji,jk->ik", (5, 3), (5, 4), params=general(((0,), (0,))),
            dtypes=NUMBERS),
    product("dot_general", "aibj,jabk->abik", (2, 3, 4, 5), (5, 2, 4, 3),
            params=general(((3,), (0,)), ((0, 2), (1, 2)))),
    product("dot_general", "iab,abk->ik", (3, 2, 4), (2, 4, 5),
            params=general(((1, 2), (0, 1)))),
    product("dot_general", "i,j->ij", (3,), (4,), params=general(((), ()))),
    product("dot_general", "a,a->a", (3,), (3,), params=general(((), ()), ((0,),
        (0,)))),
    Row("lax.dot_general", lambda x, y: x @ y, (positive(3, 5), positive(5, 4)),
        params=general(((1,), (0,))) | {"preferred_element_type": np.float32},
        dtypes=("float16", "bfloat16"), out="float32", ulp=64, bits=False,
        id="preferred", tests="values jit vmap backend oracle"),
]  # fmt: skip
