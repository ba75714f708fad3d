"""Plots, for those who have matplotlib."""

from __future__ import annotations

import importlib
import io
import warnings
from pathlib import Path
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from horizontree.atomic_file import replacing

_SETTINGS = {
    "svg.hashsalt": "horizontree",  # the same figure is the same text
    "svg.fonttype": "none",
    "text.parse_math": False,  # the name of a data set is no formula
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "axes.axisbelow": True,
    "legend.frameon": False,
}


PLOT_ENDINGS = (".svg", ".png", ".pdf")


class MissingPlotsError(ImportError):
    """matplotlib is not there; the message says how to install it."""


def _of_matplotlib(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPlotsError(
            'Plots need matplotlib, which is not installed: pip install "horizontree[report]".'
        ) from None


def require_matplotlib() -> None:
    """Raise `MissingPlotsError` where matplotlib is not there."""
    _of_matplotlib("matplotlib")


class Canvas:
    """A figure that becomes SVG text; nothing global of matplotlib is changed.

    Parameters
    ----------
    width, height : float
        Inches.
    n_columns : int, default=1
        Axes side by side.
    """

    def __init__(self, width: float, height: float, n_columns: int = 1) -> None:
        self._context = _of_matplotlib("matplotlib").rc_context(_SETTINGS)
        self._size, self._n_columns = (width, height), n_columns

    def __enter__(self) -> Self:
        figure_class = _of_matplotlib("matplotlib.figure").Figure
        self._context.__enter__()
        self.figure = figure_class(figsize=self._size, layout="constrained")
        self.axes = list(self.figure.subplots(1, self._n_columns, squeeze=False)[0])
        return self

    @staticmethod
    def make_logarithmic(axes: Any) -> None:
        """Make both scales logarithmic, with plain numbers: formulas are switched off."""
        axes.set_xscale("log")
        axes.set_yscale("log")
        _show_plain_numbers(axes.xaxis)
        _show_plain_numbers(axes.yaxis)

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            text = io.StringIO()
            with warnings.catch_warnings():
                # the text stays text: the reader's fonts draw what those of matplotlib lack
                warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
                self.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
            self.svg = text.getvalue()[text.getvalue().index("<svg") :]
        self._context.__exit__(*error)


def _show_plain_numbers(axis: Any) -> None:
    ticker = _of_matplotlib("matplotlib.ticker")
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def plot_alpha_path(search: Any, ax: Any = None) -> Any:
    """Plot accuracy and size against the price of a split.

    Parameters
    ----------
    search : AlphaSearchCV
        A fitted search.
    ax : matplotlib axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib axes
        Those of the accuracies; the sizes have their own scale on the right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import AlphaSearchCV, CARTClassifier
    >>> search = AlphaSearchCV(CARTClassifier(), random_state=0).fit(*load_iris(return_X_y=True))
    >>> plot_alpha_path(search).get_xlabel()  # doctest: +SKIP
    'price of a split (ccp_alpha)'
    """
    check_is_fitted(search)
    if ax is None:
        _, ax = _of_matplotlib("matplotlib.pyplot").subplots()
    results = search.cv_results_
    alphas = results["ccp_alpha"]
    least = min((alpha for alpha in alphas if alpha > 0), default=1.0)
    for name, label, colour in (
        ("mean_train_score", "training", "#8a8f98"),
        ("mean_test_score", "validation", "#1d4ed8"),
    ):
        ax.plot(alphas, 100 * results[name], "o-", color=colour, label=label, markersize=4)
    ax.set_xscale("symlog", linthresh=least)
    _show_plain_numbers(ax.xaxis)
    ax.axvline(search.best_alpha_, color="#c2410c", linewidth=1, linestyle="--")
    ax.set_xlabel("price of a split (ccp_alpha)")
    ax.set_ylabel("accuracy, %")
    ax.legend(loc="lower left")
    sizes = ax.twinx()
    sizes.plot(alphas, results["mean_n_splits"], color="#059669", drawstyle="steps-mid")
    sizes.set_ylabel("splits", color="#059669")
    sizes.set_ylim(bottom=0)
    sizes.grid(visible=False)
    return ax


def save_alpha_path(search: Any, path: str) -> None:
    """Save the plot of `plot_alpha_path` as SVG, PNG or PDF, by the ending of the name."""
    figure_class = _of_matplotlib("matplotlib.figure").Figure
    with _of_matplotlib("matplotlib").rc_context(_SETTINGS), replacing(path) as temporary:
        figure = figure_class(figsize=(7.5, 4.0), layout="constrained")
        plot_alpha_path(search, figure.subplots())
        figure.savefig(temporary, format=Path(path).suffix[1:].lower())
