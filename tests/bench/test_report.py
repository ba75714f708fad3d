"""The report: its figures are right, it says what is missing, and it executes nothing."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

import itertools
from dataclasses import replace

from fits import made_up
from test_statistics import MADE_UP

from horizontree import plotting
from horizontree.bench.document import Figure, Grid, Heading, Paragraph, to_html, to_markdown
from horizontree.bench.methods import METHODS
from horizontree.bench.report import report, write_report
from horizontree.bench.results_file import Plan, Run, open_results
from horizontree.cli.main import main

PLAN = Plan(("cart-sklearn", "mh-deoct"), ("a", "b"), (2,), 2)
RUN = Run("horizontree bench study", "A processor, 2 cores", ("x 1",), PLAN)


def whole_study(n_datasets=8):
    """Make up fits of every method of the study."""
    rows = []
    for number, (method, dataset, split, depth) in enumerate(
        itertools.product(METHODS, range(n_datasets), (10, 11), (2, 4))
    ):
        if METHODS[method].applies_to(depth):
            share = (number * 7919 % 101) / 200
            row = made_up(method, f"set{dataset}", split, depth, train=0.5 + share,
                          test=0.45 + share, seconds=0.01 * (1 + number % 13),
                          n_train=400 * 2**dataset)  # fmt: skip
            rows.append(row)
    return rows


def test_the_report_shows_the_figures_computed_by_hand(tmp_path):
    path = tmp_path / "a.md"
    assert write_report(path, MADE_UP, [RUN]) == [path, tmp_path / "a.html"]
    lines = path.read_text("utf-8").splitlines()
    figures = [line.partition("](")[2][:-1] for line in lines if line.startswith("![")]
    assert figures
    for figure in figures:
        assert (tmp_path / figure).read_text("utf-8").startswith("<svg")
    # 4 + 4 planned at depth 2, and 3 fits that no plan asked for
    assert any(
        line.startswith("Incomplete: 9 fits of 11 asked for, 1 of the others failed.")
        for line in lines
    )
    assert "- Machine: A processor, 2 cores" in lines
    assert "- mh-deoct: 1 fits failed: oh" in lines
    assert "| mh-deoct | 8 | 1 of 1 |" in lines  # stopped by the time limit
    cart = "| cart-sklearn | 2 | 1 to 2 | 3 of 4 | 0 | 0 | 60.00 ± 10.00 | 37.50 ± 12.50 | 3.0 |"
    # data set a 90 and 62.5, b 30 and 12.5
    ours = "| mh-deoct | 2 | 2 | 4 of 5 | 1 | 0 | 60.00 ± 30.00 | 37.50 ± 25.00 | 3.0 | 22.5 |"
    assert f"{cart} 3 |" in lines
    assert ours in lines
    # the mean over depths 2 and 8: (25 + 10) / 2, (16.67 + 0) / 2
    assert "| mh-deoct | train | +25.00 | +10.00 | +17.50 | +17.14 | 4 |" in lines
    assert "| mh-deoct | test | +16.67 | +0.00 | +8.33 | +6.25 | 4 |" in lines
    assert "| mh-deoct | train | +17.50 | +2.62 | +17.14 | +2.99 |" in lines
    assert "| a | 100 | 4 | 2 | 70.0 / 50.0 ± 0.0 | 90.0 / 62.5 ± 12.5 |" in lines
    assert "| mh-deoct - cart-sklearn | test | 2 | 2 | +6.25 ± 6.25 | 1 / 1 / 0 | - |" in lines


SECTIONS = [
    "Comparison by depth",
    "Relative gain over cart-sklearn, %",
    "Paired differences",
    "Compared with the paper",
    "Ranks",
    "Tuned comparison",
    "Warm starts",
    "Influence of the horizon",
    "Binarised against continuous",
    "Relative difference to CART by data set",
    "Time against data size",
    "Engine speed-ups",
    "Appendix: every data set",
]


def test_a_whole_study_has_every_section_with_its_figures():
    blocks = report(whole_study(), [])
    assert [b.text for b in blocks if isinstance(b, Heading) and b.level == 2] == SECTIONS
    names = [block.name for block in blocks if isinstance(block, Figure)]
    assert len(names) == len(set(names))
    assert {re.sub(r"-depth-\d", "", name) for name in names} == {
        "accuracy-by-depth", "ranks", "tuned", "warm-starts", "horizons", "binarised",
        "gains-horizon", "gains-mh-deoct", "times", "engines",
    }  # fmt: skip
    grids = [block for block in blocks if isinstance(block, Grid)]
    assert all(len(row) == len(grid.header) for grid in grids for row in grid.rows)
    ablation = [g for g in grids if len(g.rows) == 11 and g.rows[-1][0] == "mh-deoct"]
    assert len(ablation) == 2  # one a depth
    assert to_html(blocks).count("<svg") == len(names)
    text = to_markdown(blocks, "figures")
    assert all(f"(figures/{name}.svg)" in text for name in names)


def test_gains_by_tuning_stand_above_the_papers():
    rows = [
        made_up(method, dataset, 10, 2, test=test)
        for dataset, without, tuned in (("a", 0.5, 0.6), ("b", 0.9, 0.9))
        for method, test in (("horizon", without), ("horizon-tuned", tuned))
    ]
    lines = to_markdown(report(rows, []), "figures").splitlines()
    ours = "| horizon-tuned over horizon | +7.14 | +7.14 | +10.00 | 2 | 1.0 |"
    papers = "| paper: mh-deoct-tuned over mh-deoct | +0.82 | +1.26 | +1.37 as stated | - | - |"
    assert lines.index(ours) < lines.index(papers)


def test_variants_have_standard_errors_too():
    rows = [
        made_up(method, dataset, 10, 2, train=train, test=train - 0.1)
        for dataset, train in (("a", 0.7), ("b", 0.9))
        for method in ("mh-deoct-cold", "mh-deoct")
    ]
    lines = to_markdown(report(rows, []), "figures").splitlines()
    assert "| mh-deoct-cold | 80.00 ± 10.00 | 70.00 ± 10.00 | 3.0 | 1 | - |" in lines


def test_our_cart_is_the_baseline_where_scikit_learns_has_no_fits():
    rows = [row for row in whole_study() if row.method != "cart-sklearn"]
    blocks = report(rows, [])
    headings = [b.text for b in blocks if isinstance(b, Heading) and b.level == 2]
    assert headings == [text.replace("cart-sklearn", "cart") for text in SECTIONS]
    ranks = [b for b in blocks if isinstance(b, Figure) and b.name.startswith("ranks")]
    assert ranks
    assert all("> cart " in figure.svg or " cart <" in figure.svg for figure in ranks)


def test_the_same_fits_give_the_same_report():
    assert to_html(report(MADE_UP, [RUN])) == to_html(report(MADE_UP, [RUN]))


def test_the_report_of_nothing_is_a_report(tmp_path, capsys):
    with open_results(tmp_path / "none.csv"):
        pass
    assert main(["bench", "report", str(tmp_path / "none.csv")]) == 0
    assert "0 fits of 0" in (tmp_path / "none.md").read_text()
    assert main(["bench", "report", str(tmp_path / "other.csv")]) == 2
    assert "make it with horizontree bench study" in capsys.readouterr().err


class Tags(HTMLParser):
    """Collects the tags of a page, and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.references = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            if name in ("href", "src", "xlink:href"):
                self.references.add(value)


EVIL = "<script>alert(1)</script>|[x](javascript:alert(1))$\\frac{"


def test_a_page_runs_nothing_and_needs_no_other_file():
    rows = [made_up("cart-sklearn", EVIL, s, 2, test=0.5) for s in (10, 11)]
    rows += [made_up("horizon", EVIL, s, 2, test=0.6, version=EVIL) for s in (10, 11)]
    rows.append(made_up("mh-deoct", EVIL, 10, 2, status="failed", note=EVIL))
    page = Tags(to_html(report(rows, [])))
    assert "script" not in page.tags
    assert all(reference.startswith("#") for reference in page.references)
    text = to_markdown(report(rows, []), "figures")
    assert "<script>" not in text
    assert "[x](" not in text.replace("\\[x\\](", "")


def test_names_with_control_characters_and_of_any_script_are_drawn(recwarn):
    rows = [
        made_up(method, name, split, 2, test=test)
        for name in ("x\x1b[31m", "y\x00\n", "数据")
        for method, test in (("cart-sklearn", 0.5), ("horizon", 0.6))
        for split in (10, 11)
    ]
    blocks = report(rows, [])
    figures = [block for block in blocks if isinstance(block, Figure)]
    for figure in figures:
        ElementTree.fromstring(figure.svg)
    (bars,) = (figure.svg for figure in figures if figure.name.startswith("gains"))
    assert all(name in bars for name in (r"x\x1b[31m", r"y\x00\n", "数据"))
    for text in (to_html(blocks), to_markdown(blocks, "figures")):
        assert not {"\x00", "\x1b"} & set(text)
    assert not recwarn.list


def test_a_report_without_cart_is_a_report(recwarn):
    rows = [made_up("mh-deoct-cold", "a", s, 2) for s in (10, 11)]
    assert "Complete: 2 fits of 2" in to_markdown(report(rows, []), "figures")
    assert not recwarn.list


def test_fits_of_several_machines_are_named_as_such():
    rows = [made_up("mh-deoct-cold", "a", s, 2) for s in (10, 11)]
    other = replace(RUN, machine="Another processor, 2 cores")
    warning = "The fits are of several machines"
    assert warning not in to_markdown(report(rows, [RUN, RUN]), "figures")
    assert warning in to_markdown(report(rows, [RUN, other]), "figures")


def test_markdown_takes_no_name_for_markup():
    text = to_markdown([Paragraph("a_b *c* `x_y|z` tick` &amp; $x$")], "figures")
    assert text == "a\\_b \\*c\\* `x_y\\|z` tick\\` \\&amp; \\$x\\$\n"


def test_code_marks_become_code_and_nothing_else_does():
    page = to_html([Heading(1, "T"), Paragraph("run `a < b` & c")])
    assert "<p>run <code>a &lt; b</code> &amp; c</p>" in page


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch, capsys):
    def absent(name):
        raise ImportError(name)

    with open_results(tmp_path / "a.csv") as writer:
        writer.append(MADE_UP[0])
    monkeypatch.setattr(plotting.importlib, "import_module", absent)
    assert main(["bench", "report", str(tmp_path / "a.csv")]) == 2
    assert 'pip install "horizontree[report]"' in capsys.readouterr().err
