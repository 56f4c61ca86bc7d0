"""Tokens: values without content that programs pass along to put effects in order.

Effects of one program always happen in the order in which they stand, so a token says
nothing that is not known. It is a pytree without leaves.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.util import tree


class Token:
    """A value without content."""

    def block_until_ready(self) -> Token:
        return self

    def __repr__(self) -> str:
        return "Token()"


tree.register_pytree_node(Token, lambda token: ((), None), lambda _, leaves: Token())


def create_token(after: Any = None) -> Token:
    """A new token.

    >>> from tetrad import lax
    >>> lax.create_token()
    Token()
    """
    return Token()


def after_all(*tokens: Token) -> Token:
    """One token in place of several; TypeError if one of them is none.

    >>> from tetrad import lax
    >>> lax.after_all(lax.create_token(), lax.create_token())
    Token()
    """
    for position, token in enumerate(tokens):
        if not isinstance(token, Token):
            raise TypeError(
                f"lax.after_all takes tokens, as lax.create_token() makes them, but"
                f" argument {position} is {token!r} of type {type(token).__name__}"
            )
    return Token()
