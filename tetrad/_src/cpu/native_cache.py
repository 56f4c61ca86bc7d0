"""Object files on disk: a key in, the bytes of an object out, or None.

One file an entry, named by its key, in a directory that belongs to the user alone.
A file is a header (magic, key, length, checksum) and the object; whatever does not
match in full is a miss, so truncated, foreign and damaged files are harmless. Files
appear by rename, so writers and readers need no lock. The least recently used files go
when the directory outgrows its limit. Nothing here ever fails: the cache is a help.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import time

DIRECTORY_VARIABLE = "TETRAD_CACHE_DIR"
SWITCH_VARIABLE = "TETRAD_CACHE"
LIMIT = 512 << 20
MAGIC = b"tetrad object 1\n"
KEY_BYTES = 32
TOUCH_AFTER = 3600.0  # seconds; a hit renews the time of an older file
ABANDONED_AFTER = 3600.0  # seconds; a temporary file of a writer that died
SCAN_ONE_IN = 64  # keys are uniform: every 64th write looks at the whole directory
SUFFIX = ".o"

_HEADER = struct.Struct(f"<{len(MAGIC)}s{KEY_BYTES}sQ{KEY_BYTES}s")


def place() -> str:
    """Where the cache directory should be."""
    path = os.environ.get(DIRECTORY_VARIABLE, "")
    if not path:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser("~"), ".cache")
        path = os.path.join(base, "tetrad")
    return path


def directory() -> str | None:
    """The cache directory, made if need be; None if there is to be no cache."""
    if os.environ.get(SWITCH_VARIABLE, "").strip() == "0":
        return None
    path = place()
    try:
        found = os.stat(path)
    except FileNotFoundError:
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            os.mkdir(path, 0o700)
            found = os.stat(path)
        except FileExistsError:
            found = os.stat(path)
        except OSError:
            return None
    except OSError:
        return None
    return path if _is_private(found) else None


def _is_private(found: os.stat_result) -> bool:
    """Machine code is run as found: nobody else may be able to write it."""
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def disk_key(text_key: bytes, identity: str) -> bytes:
    """The key of an entry, from the text's digest and the code generator's identity."""
    return hashlib.blake2b(text_key + identity.encode(), digest_size=KEY_BYTES).digest()


def read(key: bytes) -> bytes | None:
    """The object stored under a key."""
    folder = directory()
    if folder is None:
        return None
    path = os.path.join(folder, key.hex() + SUFFIX)
    try:
        with open(path, "rb") as file:
            content = file.read()
            modified = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    data = _unpack(content, key)
    if data is None:
        _remove(path)
    elif time.time() - modified > TOUCH_AFTER:
        with contextlib.suppress(OSError):
            os.utime(path)
    return data


def write(key: bytes, data: bytes) -> None:
    """Store an object under a key."""
    folder = directory()
    if folder is None:
        return
    header = _HEADER.pack(MAGIC, key, len(data), _checksum(data))
    path = os.path.join(folder, key.hex() + SUFFIX)
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(header)
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            _remove(temporary)
            raise
    except OSError:
        return
    if key[0] % SCAN_ONE_IN == 0:
        shrink(folder, LIMIT)


def usage() -> tuple[int, int]:
    """How many objects are on disk, and their bytes."""
    folder = directory()
    count = total = 0
    if folder is not None:
        with contextlib.suppress(OSError), os.scandir(folder) as scan:
            for entry in scan:
                if entry.name.endswith(SUFFIX):
                    count += 1
                    total += entry.stat(follow_symlinks=False).st_size
    return count, total


def shrink(folder: str, limit: int) -> None:
    """Remove the least recently used files until the folder is well below the limit."""
    entries = []
    total = 0
    now = time.time()
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                found = entry.stat(follow_symlinks=False)
                if entry.name.endswith(".tmp"):
                    if now - found.st_mtime > ABANDONED_AFTER:
                        _remove(entry.path)
                elif entry.name.endswith(SUFFIX):
                    entries.append((found.st_mtime, found.st_size, entry.path))
                    total += found.st_size
    except OSError:
        return
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        _remove(path)
        total -= size
        if total <= limit * 3 // 4:
            return


def _unpack(content: bytes, key: bytes) -> bytes | None:
    if len(content) < _HEADER.size:
        return None
    magic, stored_key, length, checksum = _HEADER.unpack_from(content)
    data = content[_HEADER.size :]
    if magic != MAGIC or stored_key != key or length != len(data):
        return None
    return data if checksum == _checksum(data) else None


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
