"""Guards of transfers: what `jax.transfer_guard` allows, tells or forbids.

While a level is set anywhere, `look` hears of every transfer and acts by the level of
the thread. Explicit transfers are those that say so: `jax.device_put`, `jax.device_get`.
Numbers are never guarded, nor constants of functions that are traced.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from tetrad._src.runtime import events
from tetrad._src.runtime.events import Transfer
from tetrad._src.runtime.ledger import human
from tetrad._src.util import errors
from tetrad._src.util.config import GUARDS, config, on_switch
from tetrad._src.util.frames import format_where
from tetrad._src.util.log import logger


def look(transfer: Transfer) -> None:
    """Raises TransferGuardError, or logs, if a guard of this thread says so."""
    if transfer.kind == "constant":
        return
    if transfer.source is None:
        level = config.jax_transfer_guard_host_to_device
    elif transfer.target is None:
        level = config.jax_transfer_guard_device_to_host
    else:
        level = config.jax_transfer_guard_device_to_device
    if level is None or level == "allow":
        return
    if transfer.kind == "explicit" and not level.endswith("_explicit"):
        return
    if level.startswith("log"):
        logger.warning("transfer of %s", _words(transfer))
        return
    raise errors.TransferGuardError(_message(transfer, level))


def _words(transfer: Transfer) -> str:
    """float32[3] (12 B) from cpu:0 to the host, for float(), at script.py:3"""
    source = "the host" if transfer.source is None else str(transfer.source)
    target = "the host" if transfer.target is None else str(transfer.target)
    aval = transfer.aval
    return (
        f"{aval.long_name()} ({human(aval.nbytes)}) from {source} to {target}, for"
        f" {transfer.reason}, at {format_where(transfer.where)}"
    )


def _message(transfer: Transfer, level: str) -> str:
    if level == "disallow_explicit":
        advice = "Even explicit transfers are forbidden"
    elif transfer.source is None:
        advice = (
            "Copy the data before, with x = jax.device_put(x): that says so, and happens"
            " once"
        )
    elif transfer.target is None:
        advice = (
            "Keep the value on the device, or write jax.device_get(x) where the program"
            " shall wait for it"
        )
    else:
        advice = (
            f"Move the array before, with jax.device_put(x, {transfer.target!r}): that"
            " says so, and happens once"
        )
    return (
        f"jax.transfer_guard({level!r}) forbids the transfer of {_words(transfer)}."
        f" {advice}."
    )


_listening: list[AbstractContextManager[None]] = []


def _switch(on: bool) -> None:
    """Listens while a level is set somewhere."""
    if on and not _listening:
        _listening.append(events.guards.heard_by(look))
        _listening[0].__enter__()
    elif not on and _listening:
        _listening.pop().__exit__(None, None, None)


def install() -> None:
    on_switch(GUARDS, _switch)
