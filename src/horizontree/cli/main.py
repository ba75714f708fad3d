"""The entry point: parse the command line, run the command, turn trouble into one line."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

from horizontree.cli.arguments import parse
from horizontree.cli.console import CommandError, note

BAD_INPUT = 2
INTERRUPTED = 128 + signal.SIGINT
CLOSED_PIPE = 128 + 13  # SIGPIPE, which Windows does not name


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process when absent.

    Returns
    -------
    int
        The exit code: 0 done, 2 bad input, 130 interrupted, 141 output pipe closed.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()  # here, so that a closed pipe is noticed inside the try
        return code
    except CommandError as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        note("horizontree: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return CLOSED_PIPE
    except MemoryError as error:
        return _refuse(str(error) or "not enough memory for this data; use fewer rows or columns")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}")


def _run(argv: Sequence[str]) -> int:
    try:
        arguments = parse(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    arguments.run(arguments)
    return 0


def _refuse(message: str) -> int:
    note(f"horizontree: error: {message}")
    return BAD_INPUT


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"horizontree: warning: {message}")


def _discard_stdout() -> None:
    """Let nothing more be written to a closed pipe, not even when Python exits."""
    with suppress(OSError, ValueError):  # stdout may be no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
