"""The catalogue of operations: one row here gives an operation all its tests.

`row.py` says what a row is. The other files hold the rows, by topic.
"""

from catalogue.collectives import ROWS as COLLECTIVES
from catalogue.control import ROWS as CONTROL
from catalogue.elementwise import ROWS as ELEMENTWISE
from catalogue.folds import ROWS as FOLDS
from catalogue.indexing import ROWS as INDEXING
from catalogue.networks import ROWS as NETWORKS
from catalogue.numpy_arrays import ROWS as NUMPY_ARRAYS
from catalogue.numpy_elementwise import ROWS as NUMPY_ELEMENTWISE
from catalogue.numpy_more import ROWS as NUMPY_MORE
from catalogue.products import ROWS as PRODUCTS
from catalogue.row import Row
from catalogue.shapes import ROWS as SHAPES
from catalogue.special import ROWS as SPECIAL

ROWS: list[Row] = [
    *ELEMENTWISE,
    *SPECIAL,
    *SHAPES,
    *FOLDS,
    *PRODUCTS,
    *INDEXING,
    *COLLECTIVES,
    *CONTROL,
    *NUMPY_ELEMENTWISE,
    *NUMPY_ARRAYS,
    *NUMPY_MORE,
    *NETWORKS,
]

# Functions of tetrad.lax without a row, and why.
EXEMPT: dict[str, str] = {
    "after_all": "takes tokens: test_contexts.py",
    "create_token": "gives a token: test_contexts.py",
    "platform_dependent": "takes functions: test_check_grads.py",
    "pswapaxes": "is all_to_all: test_contexts.py",
    "dce_sink": "gives nothing: test_contexts.py",
    "broadcast_shapes": "no operation; see test_shapes_that_broadcast",
    "dtype": "about dtypes",
    "with_sharding_constraint": "takes shardings: test_sharding.py",
    "pcast": "gives its argument: test_lax_more.py",
    "pbroadcast": "across lanes: test_lax_more.py",
    "composite": "takes functions: test_lax_more.py",
    "rng_bit_generator": "bits: test_lax_more.py",
    "conv_general_dilated_local": "as convolutions: test_lax_more.py",
    "ragged_dot": "sizes that must fit: test_lax_more.py",
    "ragged_dot_general": "sizes that must fit: test_lax_more.py",
    **dict.fromkeys(
        [
            "conv_general_permutations",
            "conv_general_shape_tuple",
            "conv_shape_tuple",
            "conv_transpose_shape_tuple",
            "shape_as_value",
        ],
        "about shapes; their examples run",
    ),
    **dict.fromkeys(["psend", "precv", "rng_uniform"], "refused: test_names_of_jax.py"),
    "ragged_all_to_all": "sizes that must fit: test_names_of_jax.py",
    "reduce_window_shape_tuple": "about shapes; its example runs",
    "DotDimensionNumbers": "for annotations",
    "scaled_dot": "scales that must fit: test_block_scales.py",
    "stage": "gives its argument",
    "broadcast_like": "is broadcast_in_dim: test_lax_more.py",
    "approx_max_k": "is top_k: test_lax_more.py",
    "approx_min_k": "is top_k: test_lax_more.py",
    "mulhi": "against integers of Python: test_lax_more.py",
    **dict.fromkeys(
        [
            "conv",
            "conv_dimension_numbers",
            "conv_general_dilated",
            "conv_general_dilated_patches",
            "conv_transpose",
            "conv_with_general_padding",
            "padtype_to_pads",
            "reduce_window",
        ],
        "arguments that depend on each other; see test_convolution.py",
    ),
    "fft": "see test_fft.py",
    "custom_root": "takes functions; see test_control.py",
    "custom_linear_solve": "takes functions; see test_control_transforms.py",
}

# Functions of tetrad.nn without a row.
EXEMPT_NN: dict[str, str] = dict.fromkeys(
    ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"],
    "scales that must fit: test_block_scales.py",
)

# Functions of tetrad.numpy without a row: they answer without computing.
EXEMPT_NUMPY: dict[str, str] = {
    **dict.fromkeys(
        ["finfo", "iinfo", "issubdtype", "result_type", "promote_types", "can_cast",
         "isdtype"],
        "about dtypes",
    ),
    **dict.fromkeys(
        ["shape", "ndim", "size", "broadcast_shapes", "einsum_path", "isscalar",
         "iscomplexobj", "isrealobj", "iterable"],
        "about shapes and kinds",
    ),
    **dict.fromkeys(
        ["load", "save", "savez", "frombuffer", "fromfile", "fromiter", "fromstring",
         "from_dlpack"],
        "from and to files and other libraries",
    ),
    **dict.fromkeys(
        ["get_printoptions", "set_printoptions", "printoptions", "array_repr",
         "array_str"],
        "NumPy's own",
    ),
    "histogramdd": "has the row of histogram2d",
    "frompyfunc": "takes functions: test_numpy_more.py",
    "polyfit": "shapes that must fit: test_numpy_more.py",
    "i0": "from bessel_i0e: test_numpy_more.py",
}  # fmt: skip
