"""Write a file whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to; it takes the place of ``path`` when the block succeeds.

    The new content is written beside ``path`` and moved over it in one step, so a reader
    or a killed process never sees half a file, and a failure leaves the old file as it was.
    A symbolic link is followed. A device or pipe (``/dev/null``) is written directly.

    Parameters
    ----------
    path : str or path-like
        The file to make or replace.

    Yields
    ------
    pathlib.Path
        Where to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "note.txt"
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("done")
    ...     target.read_text()
    'done'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    if target.is_dir():  # fail before the work, with the error that open() would give
        raise IsADirectoryError(21, os.strerror(21), str(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
