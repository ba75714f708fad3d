"""Errors say what was wrong, what was expected and what to do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import csr_matrix

from horizontree import (
    AlphaSearchCV,
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MDLPBinarizer,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from horizontree.estimators.parameters import (
    check_choice,
    check_integer,
    check_real,
    check_warm_starts,
    seed_of,
)
from problems import KINDS, make_data, quick

EVOLUTIONARY = (DEOCTClassifier, MHDEOCTClassifier)
X, Y = make_data(40)

NOT_COUNTS = (0, -1, 1.0, 2.5, "3", None, True, np.nan, [1])
WRONG_FOR_ALL = {
    "min_samples_leaf": NOT_COUNTS,
    "ccp_alpha": (-0.1, -1e-300, "0", None, True, np.nan, np.inf, [0.0]),
    "n_jobs": (0, 1.5, "2", [1], True),
    "verbose": (-1, 0.5, "1", None, [1]),
    "random_state": (-1, "seed", 1.5, True, [3]),
}
WRONG_FOR_CART = {
    "max_depth": tuple(v for v in NOT_COUNTS if v is not None),
    "criterion": ("entropy", "GINI", None, 3),
}
WRONG_FOR_EVOLUTIONARY = {
    "max_depth": (*NOT_COUNTS, 13, 10**6),
    "mode": ("short", "Normal", None, 1),
    "population_size": (3, 0, -5, 4.0, "8", True),
    "generations": (-1, 0.5, "9", True, 10**12),
    "crossover": (-0.1, 1.0001, np.nan, "0.5", None, True),
    "warm_starts": ("cart", None, 3, ("CART",), ("cart", "oct"), (None,)),
    "time_limit": (0, -1, np.nan, np.inf, "1", True),
    "backend": ("gpu", "CPU", None, 0),
}
WRONG_FOR_HORIZON_TREE = {
    "max_depth": (*NOT_COUNTS, 17, 10**6),
    "horizon": (0, 1, 4, 2.0, "3", "AUTO", None, True),
    "effort": ("slow", "Normal", None, 1),
    "backend": (*WRONG_FOR_EVOLUTIONARY["backend"], "reference"),
    "time_limit": WRONG_FOR_EVOLUTIONARY["time_limit"],
}
WRONG_FOR_LOCAL_SEARCH = {
    "max_depth": (*NOT_COUNTS, 13),
    "n_starts": NOT_COUNTS,
    "time_limit": WRONG_FOR_EVOLUTIONARY["time_limit"],
}
WRONG_FOR_QUANTILES = {
    "max_depth": (*NOT_COUNTS, 4),
    "max_boxes": tuple(v for v in NOT_COUNTS if v is not None),
    "time_limit": WRONG_FOR_EVOLUTIONARY["time_limit"],
}
WRONG_FOR_REDUCED_SPACE = WRONG_FOR_QUANTILES | {
    "max_depth": (*NOT_COUNTS, 5),
    "group_size": (-1, 2.5, "8", None, True),
}
WRONG_FOR_MOVING_HORIZON = {"horizon": (0, -1, 4, 2.0, "3", "AUTO", None, True)}


def wrong_values():
    """List every classifier with every parameter and every wrong value of it."""
    for kind in KINDS:
        own = {
            CARTClassifier: WRONG_FOR_CART,
            HorizonTreeClassifier: WRONG_FOR_HORIZON_TREE,
            LSOCTClassifier: WRONG_FOR_LOCAL_SEARCH,
            QuantBnBClassifier: WRONG_FOR_QUANTILES,
            RSOCTClassifier: WRONG_FOR_REDUCED_SPACE,
        }
        tables = [WRONG_FOR_ALL, own.get(kind, WRONG_FOR_EVOLUTIONARY)]
        if kind is MHDEOCTClassifier:
            tables.append(WRONG_FOR_MOVING_HORIZON)
        for table in tables:
            for name, values in table.items():
                for value in values:
                    yield pytest.param(kind, name, value, id=f"{kind.__name__}-{name}={value!r}")


@pytest.mark.parametrize(("kind", "name", "value"), list(wrong_values()))
def test_a_wrong_value_is_refused_with_the_name_and_the_value(kind, name, value):
    model = quick(kind).set_params(**{name: value})
    with pytest.raises((ValueError, TypeError)) as refusal:
        model.fit(X, Y)
    assert name in str(refusal.value)
    if name != "warm_starts":
        assert repr(value) in str(refusal.value)
    assert not hasattr(model, "tree_")


def test_every_parameter_has_its_wrong_values():
    covered = {kind: set() for kind in KINDS}
    for case in wrong_values():
        covered[case.values[0]].add(case.values[1])
    assert covered == {kind: set(kind().get_params()) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(kind, bad):
    spoilt = X.copy()
    spoilt[3, 1] = bad
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
        quick(kind).fit(spoilt, Y)
    model = quick(kind).fit(X, Y)
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
        model.predict(spoilt)


NAMES = ["age", "height", "weight"]


@pytest.mark.parametrize(
    ("as_data", "column"),
    [
        (np.array, "1"),
        (np.ndarray.tolist, "1"),
        (lambda rows: pandas.DataFrame(rows, columns=NAMES), "'height'"),
        (lambda rows: pandas.DataFrame(rows, columns=NAMES).astype("Float64"), "'height'"),
        (lambda rows: polars.DataFrame(rows, schema=NAMES), "'height'"),
        (lambda rows: pandas.DataFrame(rows, columns=[7, 8, 9]), "8"),
        (lambda rows: pandas.DataFrame(rows.astype(str), columns=NAMES, dtype=object), "'height'"),
    ],
)
def test_missing_values_are_refused_with_their_columns(as_data, column):
    spoilt = X.copy()
    spoilt[3, 1] = spoilt[5, 2] = np.nan
    model = CARTClassifier().fit(as_data(X), Y)
    message = rf"missing values \(NaN\) in column {column} and 1 more, .* drop"
    for use in (CARTClassifier().fit, AlphaSearchCV(CARTClassifier()).fit):
        with pytest.raises(ValueError, match=message):
            use(as_data(spoilt), Y)
    with pytest.raises(ValueError, match=message):
        model.predict(as_data(spoilt))


def test_values_whose_sum_is_no_number_are_fine():
    huge = np.random.default_rng(0).choice([-1.7e308, 1.7e308], (400, 3))
    model = CARTClassifier(3).fit(huge, huge[:, 1] > 0)
    assert model.n_errors_ == 0
    assert model.score(huge, huge[:, 1] > 0) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("label", "shown"), [("yes", "yes"), (3, "3"), (True, "True")])
def test_one_class_is_refused_with_its_name(kind, label, shown):
    with pytest.raises(ValueError) as refusal:
        quick(kind).fit(X, np.full(40, label))
    message = str(refusal.value)
    assert message.startswith("y has 1 class (")
    assert shown in message
    assert "np." not in message
    assert message.endswith("a classifier needs at least 2. Check the target column.")


@pytest.mark.parametrize("kind", KINDS)
def test_sample_weights_are_refused_with_a_way_out(kind):
    with pytest.raises(TypeError, match=r"sample_weight yet.*Repeat rows"):
        quick(kind).fit(X, Y, sample_weight=np.ones(40))
    with pytest.raises(TypeError, match="class_weights"):
        quick(kind).fit(X, Y, class_weights={0: 2})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (X[:, 0], Y, "2D array"),
        (X[None], Y, "dim"),
        (X[:0], Y[:0], "0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X, np.column_stack([Y, Y]), "1d array|multioutput|multilabel"),
        (X, X[:, 0], "continuous"),
        (X, None, "requires y to be passed"),
        ([["a", "b"]] * 40, Y, "convert string to float"),
        (X + 1j, Y, "Complex data not supported"),
    ],
)
def test_data_of_the_wrong_kind_are_refused(kind, features, labels, message):
    with pytest.raises(ValueError, match=message):
        quick(kind).fit(features, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sparse_matrix_is_refused(kind):
    with pytest.raises(TypeError, match="dense"):
        quick(kind).fit(csr_matrix(X), Y)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_another_width_are_refused(kind):
    model = quick(kind).fit(X, Y)
    for method in ("predict", "predict_proba", "apply", "decision_path"):
        with pytest.raises(ValueError, match="expecting 3 features"):
            getattr(model, method)(X[:, :2])


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_too_deep_a_tree_is_refused_with_the_limit(kind):
    with pytest.raises(ValueError, match=r"max_depth must be an integer from 1 to 12, got 13\."):
        kind(max_depth=13).fit(X, Y)


def test_a_horizon_beyond_the_tree_is_refused_with_the_limit():
    with pytest.raises(ValueError, match=r"horizon must be an integer from 1 to 3, got 4\."):
        quick(MHDEOCTClassifier, horizon=4).fit(X, Y)
    with pytest.raises(ValueError, match=r'horizon must be "auto" or an integer, got \'all\'\.'):
        quick(MHDEOCTClassifier, horizon="all").fit(X, Y)


def test_an_unknown_backend_is_refused_with_the_known_ones():
    for kind in EVOLUTIONARY:
        known = "'auto', 'cpu', 'jax', 'reference'"
        with pytest.raises(ValueError, match=f"backend must be one of {known}"):
            quick(kind, backend="gpu").fit(X, Y)


def test_an_unknown_warm_start_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'cart', 'deoct', 'local-cart', got 'oct'"):
        quick(MHDEOCTClassifier, warm_starts=("cart", "oct")).fit(X, Y)
    with pytest.raises(ValueError, match=r"one of 'cart', got 'deoct'"):
        quick(DEOCTClassifier, warm_starts=("deoct",)).fit(X, Y)
    with pytest.raises(ValueError, match=r"use \(\) for none"):
        quick(DEOCTClassifier, warm_starts=None).fit(X, Y)


def test_warm_starts_in_any_collection_mean_the_same():
    names = ("local-cart", "cart")
    expected = quick(MHDEOCTClassifier, warm_starts=names).fit(X, Y).tree_
    for same in (names[::-1], list(names), set(names), dict.fromkeys(names), names * 2):
        assert quick(MHDEOCTClassifier, warm_starts=same).fit(X, Y).tree_ == expected


def test_warm_starts_that_can_be_read_only_once_are_refused():
    with pytest.raises(ValueError, match="warm_starts must be a tuple"):
        quick(MHDEOCTClassifier, warm_starts=iter(["cart"])).fit(X, Y)


def test_a_whole_number_is_a_whole_number_of_any_type():
    for value in (3, np.int8(3), np.uint64(3)):
        assert check_integer("n", value, at_least=1) == 3
        assert type(check_integer("n", value, at_least=1)) is int
    assert check_integer("n", 3, at_least=3, at_most=3) == 3
    for wrong in (2, 4, 3.0, True, np.True_, "3", None):
        with pytest.raises(ValueError, match="n must be an integer from 3 to 3"):
            check_integer("n", wrong, at_least=3, at_most=3)


def test_a_real_number_is_finite():
    for value in (0, 0.5, np.float32(0.5), np.int64(2), Fraction(1, 4), 2**64):
        assert check_real("r", value) == value
    with pytest.raises(ValueError, match="r must be a finite number of at least 0, got -1"):
        check_real("r", -1)
    with pytest.raises(ValueError, match="a finite number of at least 0, got 1000"):
        check_real("r", 10**400)
    with pytest.raises(ValueError, match="above 0, got 0"):
        check_real("r", 0, above=0.0)
    with pytest.raises(ValueError, match=r"at least 0 and at most 1, got 1\.5"):
        check_real("r", 1.5, at_most=1.0)


def test_a_choice_is_one_of_the_words():
    assert check_choice("mode", "long", ("normal", "long")) == "long"
    with pytest.raises(ValueError, match="mode must be one of 'normal', 'long', got 'short'"):
        check_choice("mode", "short", ("normal", "long"))


def test_warm_starts_come_in_a_fixed_order():
    known = ("cart", "deoct")
    assert check_warm_starts(["deoct", "cart", "deoct"], known) == known
    assert check_warm_starts((), known) == ()


def test_a_seed_is_itself_and_a_generator_gives_one():
    assert seed_of(7) == seed_of(np.int64(7)) == 7
    assert seed_of(2**63) == 2**63
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    assert seed_of(None) != seed_of(None)


@pytest.mark.parametrize("values", [["a", "b", "a", "b"], [1, 2, 1, 2]], ids=["text", "codes"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_categories_is_refused_by_name(library, values):
    frames = pytest.importorskip(library)
    colour = [str(value) for value in values]
    if library == "pandas":
        column = frames.Categorical(values)
    else:
        column = frames.Series(colour, dtype=frames.Categorical)
    X = frames.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": column})
    with pytest.raises(ValueError, match=r"column 'colour' holds categories .* one-hot encode"):
        CARTClassifier().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_dates_is_refused_by_name(library):
    frames = pytest.importorskip(library)
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "datetime64[us]")
    for column in (days, days - days[0]):
        X = frames.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "day": column})
        with pytest.raises(ValueError, match=r"column 'day' holds dates or times .* into numbers"):
            CARTClassifier().fit(X, [0, 1, 0, 1])


def test_an_array_of_dates_is_refused():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]").repeat(20)[:, None]
    for use in (CARTClassifier().fit, AlphaSearchCV().fit, MDLPBinarizer().fit):
        with pytest.raises(ValueError, match=r"X holds dates or times .* into numbers"):
            use(days, Y)


@pytest.mark.parametrize("search", [CARTClassifier(), AlphaSearchCV(CARTClassifier())])
def test_classes_that_are_missing_are_refused(search):
    with pytest.raises(ValueError, match=r"y has missing values \(None\). Drop these rows"):
        search.fit([[1.0], [2.0], [3.0], [4.0]], ["a", None, "b", "a"])


def as_polars(rows):
    return polars.DataFrame(rows, orient="row")


@pytest.mark.parametrize("made", [np.array, list, pandas.DataFrame, as_polars])
def test_integers_that_float64_would_round_are_refused(made):
    for row in ([2**53 + 1], [-(2**60)]):
        with pytest.raises(ValueError, match="integers beyond"):
            CARTClassifier().fit(made([[0], row, [1], [2]]), [0, 1, 0, 1])
    CARTClassifier().fit(made([[0], [2**53], [1], [2]]), [0, 1, 0, 1])


def test_integers_of_more_than_64_bits_are_refused_too():
    with pytest.raises(ValueError, match="integers beyond"):
        CARTClassifier().fit([[2**70], [2**70 + 1]], [0, 1])


def test_a_fit_that_is_refused_leaves_the_model_as_it_was():
    model = CARTClassifier().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.full(len(Y), 7))
    with pytest.raises(ValueError, match="integers beyond"):
        model.fit(np.full((len(Y), 9), 2**60), Y)
    assert np.array_equal(model.predict(X), before)
