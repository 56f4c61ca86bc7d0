"""The stages of a function under `jit`: traced, lowered, compiled."""

from tetrad._src.api.jit import JitFunction as Wrapped
from tetrad._src.api.stages import ArgInfo as ArgInfo
from tetrad._src.api.stages import Compiled as Compiled
from tetrad._src.api.stages import CompilerOptions as CompilerOptions
from tetrad._src.api.stages import Lowered as Lowered
from tetrad._src.api.stages import Traced as Traced
