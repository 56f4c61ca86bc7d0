"""Operations."""

from tetrad.lax import *  # noqa: F403
