"""The picture of the accuracy study: mean accuracy by depth, as a plain SVG file."""

from __future__ import annotations

from pathlib import Path

from accuracy_report import PAPER_DEPTHS, Table, average
from results_file import write_text

LINES = {
    "cart-sklearn": ("CART", "#8a8f98"),
    "mh-deoct": ("MH-DEOCT", "#c2410c"),
    "horizon": ("HorizonTree", "#1d4ed8"),
}
WIDTH, HEIGHT, MARGIN = 330, 250, 46
PANELS = (("train", "training accuracy, %"), ("test", "test accuracy, %"))


def write_picture(path: Path, table: Table) -> None:
    """Draw the methods of ``LINES`` that are there, training and test side by side."""
    panels = [_panel(table, part, title, i * WIDTH) for i, (part, title) in enumerate(PANELS)]
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}" '
        f'width="{2 * WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )
    write_text(path, text)


def _panel(table: Table, part: str, title: str, left: int) -> str:
    means = {
        method: {
            depth: 100 * getattr(found, part)
            for depth in PAPER_DEPTHS
            if (
                found := average(
                    r for k, r in table.items() if (k.method, k.depth) == (method, depth)
                )
            )
        }
        for method in LINES
    }
    values = [value for line in means.values() for value in line.values()]
    low, high = int(min(values)) - 1, int(max(values)) + 2

    def x(depth: int) -> float:
        step = (WIDTH - 2 * MARGIN) / (len(PAPER_DEPTHS) - 1)
        return left + MARGIN + step * PAPER_DEPTHS.index(depth)

    def y(value: float) -> float:
        return MARGIN + (HEIGHT - 2 * MARGIN) * (high - value) / (high - low)

    parts = [f'<text x="{left + WIDTH / 2}" y="20" text-anchor="middle">{title}</text>']
    for value in range(low + (-low) % 5, high + 1, 5):
        parts.append(
            f'<path d="M{left + MARGIN},{y(value):.1f}H{left + WIDTH - MARGIN}" stroke="#e5e7eb"/>'
            f'<text x="{left + MARGIN - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>'
        )
    parts += [
        f'<text x="{x(depth)}" y="{HEIGHT - 24}" text-anchor="middle">depth {depth}</text>'
        for depth in PAPER_DEPTHS
    ]
    for row, (method, (name, colour)) in enumerate(LINES.items()):
        points = [(x(depth), y(value)) for depth, value in means[method].items()]
        line = "L".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}"/>' for px, py in points
        ]
        parts.append(
            f'<text x="{left + WIDTH - MARGIN}" y="{HEIGHT - MARGIN - 46 + 16 * row}" '
            f'fill="{colour}" text-anchor="end">{name}</text>'
        )
    return "\n".join(parts)
