"""What can be said of a terminal, and what can be said to one."""

from __future__ import annotations

import re
from typing import Any

# C0 with newline and tab, DEL, C1, the separators of lines and paragraphs, and what turns the
# direction of writing: a name of somebody else's could forge lines or command the terminal
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def is_terminal(stream: Any) -> bool:
    """Return whether a person looks at a stream; False for None and for odd streams."""
    isatty = getattr(stream, "isatty", None)
    return bool(isatty()) if callable(isatty) else False


def visible(text: object) -> str:
    r"""Write control characters as escapes; all other characters stay as they are.

    Parameters
    ----------
    text : object
        A name, or anything else that is about to be shown to people.

    Returns
    -------
    str
        One line that leaves the terminal alone.

    Examples
    --------
    >>> print(visible("size\n\x1b[2J\u202e"))
    size\n\x1b[2J\u202e
    """
    return _CONTROLS.sub(_escape, str(text))


def _escape(control: re.Match[str]) -> str:
    return control.group().encode("unicode_escape").decode("ascii")
