"""A report as a list of blocks, written as Markdown or as one page of HTML.

Nothing in the data is ever taken for markup: the names of data sets, methods and messages are
escaped in both.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from horizontree.terminal import visible


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the report's own."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Listing:
    """Lines with bullets."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table; the first column is to the left, the others to the right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A plot as SVG text that we drew ourselves."""

    name: str
    svg: str
    caption: str


Block = Heading | Paragraph | Listing | Grid | Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 72rem;
       margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #e5e7eb; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block;
        overflow-x: auto; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #9ca3af; } tbody tr:nth-child(even) { background: #f3f4f6; }
figure { margin: 1.5rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 13px; color: #4b5563; } nav ul { columns: 2; }
"""


_SPECIAL = re.compile(r"([\\`|<>\[\]*_&$#~])")


def to_markdown(blocks: Sequence[Block], folder: str) -> str:
    """Write the blocks as Markdown; figures are files in ``folder``."""
    return "\n\n".join(_markdown(block, folder) for block in blocks) + "\n"


def _markdown(block: Block, folder: str) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Listing(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Grid(header, rows):
            rule = (":---", *("---:" for _ in header[1:]))
            cells = [[_plain(cell) for cell in header], rule]
            cells += [[_plain(cell) for cell in row] for row in rows]
            return "\n".join(f"| {' | '.join(row)} |" for row in cells)
        case Figure(name, _, caption):
            return f"![{_plain(caption)}]({folder}/{name}.svg)"


def _plain(text: str) -> str:
    """Escape what Markdown would take for markup; `code` keeps its marks, and all but bars."""
    parts = re.split(r"(`[^`]*`)", visible(" ".join(text.split())))
    return "".join(
        part.replace("|", r"\|") if part.startswith("`") else _SPECIAL.sub(r"\\\1", part)
        for part in parts
    )


def to_html(blocks: Sequence[Block]) -> str:
    """Write the blocks as one page that needs no other file."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Report")
    sections = [block for block in blocks if isinstance(block, Heading) and block.level == 2]
    contents = "".join(
        f'<li><a href="#{_anchor(block.text)}">{_escaped(block.text)}</a></li>'
        for block in sections
    )
    body: list[str] = []
    for block in blocks:
        body.append(_html(block))
        if isinstance(block, Heading) and block.level == 1:
            body.append(f"<nav><ul>{contents}</ul></nav>")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f'<h{level} id="{_anchor(text)}">{_escaped(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{_escaped(text)}</p>"
        case Listing(items):
            return "<ul>" + "".join(f"<li>{_escaped(item)}</li>" for item in items) + "</ul>"
        case Grid(header, rows):
            head = "".join(f"<th>{_escaped(cell)}</th>" for cell in header)
            lines = "".join(
                "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>\n"
                for row in rows
            )
            return f"<table><thead><tr>{head}</tr></thead><tbody>\n{lines}</tbody></table>"
        case Figure(_, svg, caption):
            return f"<figure>{svg}<figcaption>{_escaped(caption)}</figcaption></figure>"


def _escaped(text: str) -> str:
    """Escape all markup; `code` marks become code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(visible(text)))


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
