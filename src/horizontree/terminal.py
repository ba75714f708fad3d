"""What can be said of a terminal."""

from __future__ import annotations

from typing import Any


def is_terminal(stream: Any) -> bool:
    """Return whether a person looks at a stream; False for None and for odd streams."""
    isatty = getattr(stream, "isatty", None)
    return bool(isatty()) if callable(isatty) else False
