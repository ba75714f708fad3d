"""``horizontree tune`` and ``horizontree compare``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

from horizontree import AlphaSearchCV, CARTClassifier, load_model, plotting
from horizontree.cli import compare
from horizontree.cli.main import main


@pytest.fixture
def noisy(tmp_path, monkeypatch) -> str:
    """A data file whose classes depend on one feature and on chance."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((300, 3)).round(4)
    y = np.where((X[:, 0] > 0.5) ^ (rng.random(300) < 0.15), "yes", "no")
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    frame.write_csv("noisy.csv")
    return "noisy.csv"


def answer_of(capsys, *arguments: str) -> dict:
    capsys.readouterr()
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


# ----------------------------------------------------------------------------------- tune


def test_tuning_is_that_of_the_library(noisy, capsys):
    answer = answer_of(
        capsys, "tune", noisy, "--target", "y", "--method", "cart", "--depth", "5",
        "--cv", "4", "--seed", "3", "--json",
    )  # fmt: skip
    frame = polars.read_csv(noisy)
    search = AlphaSearchCV(CARTClassifier(5), cv=4, random_state=3)
    search.fit(frame.drop("y").to_numpy(), frame["y"].to_numpy())
    assert answer["best_alpha"] == search.best_alpha_
    assert answer["best_score"] == search.best_score_
    assert answer["path"]["mean_n_splits"] == search.cv_results_["mean_n_splits"].tolist()
    assert answer["fits"] == search.n_fits_


def test_the_tuned_model_is_saved_with_its_price(noisy, capsys):
    arguments = ("tune", noisy, "--target", "y", "--alphas", "9", "--output", "tuned.json")
    assert main([*arguments, "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "<- chosen" in captured.out
    assert "model saved to tuned.json" in captured.out
    assert captured.err == ""
    model = load_model("tuned.json")
    assert model.ccp_alpha > 0
    assert model.tree_.n_splits == 1
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["path.svg", "path.png", "path.pdf"])
def test_the_path_can_be_plotted(noisy, capsys, name):
    pytest.importorskip("matplotlib")
    asked = ("tune", noisy, "--target", "y", "--method", "cart", "--quiet", "--plot", name)
    assert main(asked) == 0
    assert f"plot saved to {name}" in capsys.readouterr().out
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[name[-3:]]
    assert Path(name).read_bytes().startswith(start)


def test_a_plot_without_matplotlib_is_refused_before_the_search(
    noisy: str, refusal_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(plotting.importlib, "import_module", absent)
    said = refusal_of("tune", noisy, "--target", "y", "--quiet", "--plot", "a.svg")
    assert 'pip install "horizontree[report]"' in said


def test_a_plot_shows_accuracies_sizes_and_the_choice():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = np.random.default_rng(0).random((90, 2)), np.arange(90) % 2
    search = AlphaSearchCV(CARTClassifier(3), n_alphas=5, random_state=0).fit(X, y)
    axes = plotting.plot_alpha_path(search)
    train, validation, choice = axes.get_lines()
    assert np.allclose(train.get_ydata(), 100 * search.cv_results_["mean_train_score"])
    assert np.allclose(validation.get_ydata(), 100 * search.cv_results_["mean_test_score"])
    assert set(choice.get_xdata()) == {search.best_alpha_}
    (sizes,) = (other for other in axes.figure.axes if other is not axes)
    assert np.allclose(sizes.get_lines()[0].get_ydata(), search.cv_results_["mean_n_splits"])
    assert plotting.plot_alpha_path(search, axes) is axes
    pyplot.close(axes.figure)


def test_the_highest_score_can_be_asked_for(noisy, capsys):
    asked = ("tune", noisy, "--target", "y", "--method", "cart", "--json")
    auto, best = (
        answer_of(capsys, *asked, "--selection", selection)["path"]
        for selection in ("auto", "best")
    )
    assert auto["mean_test_score"] == best["mean_test_score"]
    assert best["mean_test_score"] == pytest.approx(best["selection_score"])
    assert auto["selection_score"] != pytest.approx(best["selection_score"])


def test_a_search_that_did_not_end_is_said(noisy, capsys):
    asked = ("tune", noisy, "--target", "y", "--method", "quant-bnb", "--depth", "3", "--quiet")
    assert main([*asked, "--alphas", "2", "--cv", "2", "--time-limit", "0.05"]) == 0
    assert "The time limit struck; this is the best tree so far." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cv", "1"], "--cv: expected holdout or an integer of at least 2"),
        (["--alphas", "1"], "--alphas"),
        (["--ccp-alpha", "0.1"], "--ccp-alpha"),
        (["--depth", "99"], "--depth"),
        (["--method", "cart", "--mode", "long"], "--mode does not apply to --method cart; leave"),
        (["--plot", "path.txt"], "--plot path.txt: expected a name that ends in .svg"),
        (["--plot", "a.svg", "--output", "./a.svg"], "--plot and --output name the same file"),
    ],
)
def test_what_cannot_be_tuned_is_refused(
    arguments: list[str], said: str, noisy: str, refusal_of: Callable[..., str]
) -> None:
    assert said in refusal_of("tune", noisy, "--target", "y", "--quiet", *arguments)


# -------------------------------------------------------------------------------- compare


def test_methods_are_compared_on_the_same_folds(noisy, capsys):
    answer = answer_of(
        capsys, "compare", noisy, "--target", "y", "--methods", "cart", "quant-bnb", "horizon",
        "--depth", "2", "--folds", "4", "--json",
    )  # fmt: skip
    assert list(answer["methods"]) == ["cart", "quant-bnb", "horizon"]
    exact, ours = answer["methods"]["quant-bnb"], answer["methods"]["horizon"]
    assert exact["train_accuracy"] == pytest.approx(ours["train_accuracy"])
    assert answer["methods"]["cart"]["train_accuracy"] <= ours["train_accuracy"]
    assert answer["folds"] == 4
    assert answer["advice"].startswith("Take ")


def test_methods_have_the_depth_that_all_of_them_can_do(noisy, capsys):
    asked = ("compare", noisy, "--target", "y", "--methods", "cart", "quant-bnb", "--folds", "2")
    assert answer_of(capsys, *asked, "--json")["depth"] == 2


def test_the_table_ends_with_one_sentence_of_advice(noisy, capsys):
    assert main(["compare", noisy, "--target", "y", "--depth", "3", "--quiet"]) == 0
    lines = capsys.readouterr().out.strip().split("\n")
    assert [line.split()[0] for line in lines[3:6]] == ["cart", "mh-deoct", "horizon"]
    assert lines[-1].startswith("Take ")
    assert lines[-1].count(".") == 1


def test_methods_that_are_no_better_than_one_answer_are_not_advised(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = {"a": rng.random(200), "b": rng.random(200), "y": np.arange(200) % 6 == 0}
    polars.DataFrame(frame).write_csv("noise.csv")
    answer = answer_of(capsys, "compare", "noise.csv", "--target", "y", "--depth", "4", "--json")
    assert max(each["test_accuracy"] for each in answer["methods"].values()) <= 166 / 200
    assert answer["advice"].startswith("Take none of them")
    assert "83.00 %" in answer["advice"]


def test_a_time_limit_is_for_the_methods_that_need_one(noisy, capsys):
    asked = ("compare", noisy, "--target", "y", "--methods", "cart", "rs-oct", "--folds", "2")
    assert main([*asked, "--depth", "3", "--time-limit", "0.2"]) == 0
    out, said = capsys.readouterr()
    assert "rs-oct: the time limit ended 2 of 2 fits" in out
    assert "cart: the time limit" not in out
    assert "cart: 2 folds ..." in said
    assert "rs-oct: 2 folds, at most 0.2 s each ..." in said
    assert main([*asked, "--depth", "1"]) == 0
    out, said = capsys.readouterr()
    assert "time limit" not in out
    assert "rs-oct: 2 folds, at most 60 s each ..." in said  # it might search without end


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--folds", "1"], "--folds"),
        (["--folds", "301"], "--folds 301 is more than there are rows (300)"),
        (["--methods", "magic"], "--methods"),
        (
            ["--methods", "cart", "quant-bnb", "--depth", "4"],
            "quant-bnb: --depth must be an integer from 1 to 3",
        ),
        (
            ["--methods", "cart", "contree", "--min-samples-leaf", "9"],
            "--min-samples-leaf does not apply to contree; leave out the option or the method",
        ),
        (["--methods", "cart", "iai-oct"], "licence"),
        (
            ["--methods", "cart", "ls-oct", "--effort", "quick"],
            "--effort does not apply to --methods cart ls-oct; leave it out",
        ),
        (
            ["--methods", "cart", "horizon", "--mode", "long"],
            "--mode does not apply to --methods cart horizon; leave it out",
        ),
        (["--methods", "cart", "--time-limit", "1"], "--time-limit does not apply"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: list[str], said: str, noisy: str, refusal_of: Callable[..., str]
) -> None:
    assert said in refusal_of("compare", noisy, "--target", "y", "--quiet", *arguments)


def test_an_option_is_for_the_methods_that_have_it(noisy, capsys, monkeypatch):
    def fit_rows(estimator, X, y):
        fitted[type(estimator).__name__] = estimator.get_params(deep=False)
        return original(estimator, X, y)

    fitted, original = {}, compare.fit_rows
    monkeypatch.setattr(compare, "fit_rows", fit_rows)
    asked = ("--methods", "cart", "horizon", "mh-deoct", "--depth", "2", "--folds", "2")
    options = ("--mode", "long", "--effort", "quick", "--seed", "3")
    answer = answer_of(capsys, "compare", noisy, "--target", "y", *asked, *options, "--json")
    assert list(answer["methods"]) == ["cart", "horizon", "mh-deoct"]
    cart, ours, papers = fitted.values()
    assert (papers["mode"], ours["effort"]) == ("long", "quick")
    assert not {"mode", "effort"} & set(cart)
    for parameters in (cart, ours, papers):
        assert (parameters["max_depth"], parameters["random_state"]) == (2, 3)
        assert parameters["verbose"] == 0


def test_a_comparison_on_jax_that_is_not_there_is_refused(
    noisy: str, refusal_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "horizontree.backends.jax_backend", None)
    asked = ("compare", noisy, "--target", "y", "--methods", "cart", "horizon", "--backend", "jax")
    assert 'pip install "horizontree[jax]"' in refusal_of(*asked)


def test_an_interrupted_comparison_has_no_table(noisy, capsys, monkeypatch):
    def interrupted(self, *arguments):
        fitted = original(self, *arguments)
        self.status_ = "interrupted"
        return fitted

    original = CARTClassifier._fit_checked
    monkeypatch.setattr(CARTClassifier, "_fit_checked", interrupted)
    assert main(["compare", noisy, "--target", "y", "--methods", "cart"]) == 130
    assert capsys.readouterr().out == ""
