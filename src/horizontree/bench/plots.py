"""The figures of the report, drawn by matplotlib as SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from horizontree.bench.statistics import Ranks, Slope
from horizontree.plotting import Canvas
from horizontree.terminal import visible

COLOURS = {
    "cart": "#4b5563",
    "cart-sklearn": "#a8b0bb",
    "mh-deoct": "#c2410c",
    "horizon": "#1d4ed8",
}
_OTHERS = ("#059669", "#7c3aed", "#db2777", "#ca8a04", "#0891b2", "#65a30d", "#f472b6", "#111827",
           "#be123c", "#0d9488", "#a16207", "#4338ca")  # fmt: skip


def colours_of(methods: Sequence[str]) -> dict[str, str]:
    """Give each method a colour; the best known ones have their own."""
    others = iter(_OTHERS * (1 + len(methods) // len(_OTHERS)))
    return {method: COLOURS.get(method) or next(others) for method in methods}


def lines_by_depth(panels: Mapping[str, Mapping[str, Mapping[int, float]]]) -> str:
    """Draw lines over depths: ``panels[title][method][depth]``."""
    methods = list(dict.fromkeys(method for panel in panels.values() for method in panel))
    colours = colours_of(methods)
    with Canvas(9.5, 3.6, len(panels)) as canvas:
        for axes, (title, lines) in zip(canvas.axes, panels.items(), strict=True):
            depths = sorted({depth for line in lines.values() for depth in line})
            for method, line in lines.items():
                xs = [depths.index(depth) for depth in line]
                axes.plot(xs, list(line.values()), "o-", color=colours[method], label=method,
                          markersize=4, linewidth=1.6)  # fmt: skip
            axes.set_xticks(range(len(depths)), [f"depth {depth}" for depth in depths])
            axes.set_title(title)
        canvas.axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return canvas.svg


def bars_by_dataset(differences: Mapping[str, float], title: str) -> str:
    """Draw a bar for each data set, from the largest difference to the smallest."""
    ordered = sorted(differences.items(), key=lambda item: -item[1])
    with Canvas(9.5, 4.2) as canvas:
        (axes,) = canvas.axes
        values = [value for _, value in ordered]
        axes.bar(range(len(ordered)), values,
                 color=["#1d4ed8" if value >= 0 else "#c2410c" for value in values])  # fmt: skip
        names = [visible(name) for name, _ in ordered]  # SVG takes no control characters
        axes.set_xticks(range(len(ordered)), names, rotation=90, fontsize=6)
        axes.margins(x=0.01)
        axes.set_title(title)
    return canvas.svg


def times_by_rows(
    points: Mapping[str, Sequence[tuple[int, float]]], slopes: Mapping[str, Slope], title: str
) -> str:
    """Draw seconds against rows on logarithmic scales, with fitted lines."""
    colours = colours_of(list(points))
    with Canvas(9.5, 4.4) as canvas:
        (axes,) = canvas.axes
        for method, pairs in points.items():
            rows = [n for n, _ in pairs]
            slope = slopes.get(method)
            label = method if slope is None else f"{method}, slope {slope.exponent:.2f}"
            axes.scatter(rows, [max(s, 1e-4) for _, s in pairs], s=9, color=colours[method],
                         label=label)  # fmt: skip
            if slope is not None:
                ends = [slope_from(rows, slope), max(rows)]
                axes.plot(ends, [10**slope.intercept * n**slope.exponent for n in ends],
                          color=colours[method], linewidth=1)  # fmt: skip
        canvas.make_logarithmic(axes)
        axes.set_xlabel("training rows")
        axes.set_ylabel("seconds")
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return canvas.svg


def slope_from(rows: Sequence[int], slope: Slope) -> int:
    """Return the fewest rows that the line was fitted to."""
    return sorted(rows)[-slope.n_datasets]


def critical_difference(ranks: Ranks, title: str) -> str:
    """Draw mean ranks on a line; bars join what is not distinguishable."""
    k = len(ranks.methods)
    half = (k + 1) // 2
    with Canvas(9.5, 1.5 + 0.23 * half + 0.12 * len(ranks.cliques)) as canvas:
        (axes,) = canvas.axes
        axes.set_axis_off()
        low, high = 1, k
        axes.set_xlim(low - 0.28 * (k - 1) - 0.3, high + 0.28 * (k - 1) + 0.3)
        bars_height = 0.35 * len(ranks.cliques)
        axes.set_ylim(-(half + 1 + bars_height), 1.9)
        axes.plot([low, high], [0, 0], color="black", linewidth=1)
        for tick in range(low, high + 1):
            axes.plot([tick, tick], [0, 0.15], color="black", linewidth=1)
            axes.text(tick, 0.3, str(tick), ha="center")
        axes.plot([low, low + ranks.critical_difference], [1.2, 1.2], color="black", linewidth=2)
        axes.text(low, 1.4, f"critical difference {ranks.critical_difference:.2f}")
        for number, (method, rank) in enumerate(zip(ranks.methods, ranks.mean_ranks, strict=True)):
            is_left = number < half
            depth = -(bars_height + 0.8 + (number if is_left else k - 1 - number))
            end = low - 0.2 if is_left else high + 0.2
            axes.plot([rank, rank, end], [0, depth, depth], color="#6b7280", linewidth=0.8)
            text = f"{method} {rank:.2f}" if is_left else f"{rank:.2f} {method}"
            axes.text(end, depth, f" {text} ", ha="right" if is_left else "left", va="center")
        for number, (first, last) in enumerate(ranks.cliques):
            height = -0.3 - 0.35 * number
            ends = [ranks.mean_ranks[first] - 0.03, ranks.mean_ranks[last] + 0.03]
            axes.plot(ends, [height, height], color="#1d4ed8", linewidth=3.5)
        axes.set_title(title)
    return canvas.svg


def speed_ups(points: Mapping[str, Sequence[tuple[int, int, float]]], title: str) -> str:
    """Draw speed-ups against rows: ``points[method]`` holds (rows, depth, ratio)."""
    colours = colours_of(list(points))
    with Canvas(9.5, 3.6) as canvas:
        (axes,) = canvas.axes
        for method, found in points.items():
            axes.scatter([n for n, _, _ in found], [ratio for _, _, ratio in found], s=10,
                         color=colours[method], label=method)  # fmt: skip
        axes.axhline(1, color="black", linewidth=0.8)
        canvas.make_logarithmic(axes)
        axes.set_xlabel("training rows")
        axes.set_ylabel("times as fast")
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return canvas.svg
