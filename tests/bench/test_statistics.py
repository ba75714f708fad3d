"""Averages, comparisons, ranks and slopes: against figures computed by hand."""

import math

import pytest
from fits import made_up
from scipy import stats

from horizontree.bench import paper
from horizontree.bench.statistics import (
    Fits,
    average,
    compare,
    rank,
    slope,
    speed_ups,
    wilcoxon,
)

MADE_UP = [
    # depth 2. CART: a (0.8 + 0.6) / 2 = 0.7, b 0.5, mean 0.6. Fits of mh-deoct: a 0.9, b 0.6
    made_up("cart-sklearn", "a", 0, 2, train=0.8, test=0.50, seconds=1),
    made_up("cart-sklearn", "a", 1, 2, train=0.6, test=0.50, seconds=3),
    made_up("cart-sklearn", "b", 0, 2, train=0.5, test=0.25, seconds=4),
    made_up("mh-deoct", "a", 0, 2, train=1.0, test=0.75, seconds=10),
    made_up("mh-deoct", "a", 1, 2, train=0.8, test=0.50, seconds=20),
    made_up("mh-deoct", "b", 0, 2, train=0.6, test=0.25, seconds=30, status="optimal"),
    made_up("mh-deoct", "b", 1, 2, train=0.0, test=0.00, seconds=30),  # CART lacks this fit
    made_up("mh-deoct", "c", 0, 2, train=math.nan, test=math.nan, status="failed", note="oh"),
    # depth 8: CART 0.8, mh-deoct 0.88
    made_up("cart-sklearn", "a", 0, 8, train=0.8, test=0.5),
    made_up("mh-deoct", "a", 0, 8, train=0.88, test=0.5, status="time_limit"),
]


@pytest.fixture
def fits():
    return Fits(MADE_UP)


def test_failed_fits_are_left_out(fits):
    assert fits.datasets == ["a", "b"]
    assert fits.depths == [2, 8]
    assert len(list(fits)) == len(MADE_UP) - 1


def test_averages_are_over_splits_and_then_over_data_sets(fits):
    cart = average(fits, "cart-sklearn", 2)
    assert (cart.n_datasets, cart.n_splits, cart.n_fits) == (2, (1, 2), 3)
    assert (cart.train, cart.test) == pytest.approx((0.6, 0.375))
    assert cart.seconds == pytest.approx(3)  # a (1 + 3) / 2, b 4
    assert cart.train_error == pytest.approx(0.1)  # 0.7 and 0.5: deviation 0.1414 / sqrt(2)
    ours = average(fits, "mh-deoct", 2)
    assert (ours.n_fits, ours.n_proven, ours.n_stopped) == (4, 1, 0)
    assert average(fits, "mh-deoct", 8).n_stopped == 1
    assert average(fits, "mh-deoct", 3) is None


def test_gains_over_cart_are_those_computed_by_hand(fits):
    train = compare(fits, "mh-deoct", "cart-sklearn", 2, "train")
    test = compare(fits, "mh-deoct", "cart-sklearn", 2, "test")
    assert (train.n_datasets, train.n_fits) == (2, 3)
    # train: (0.9 + 0.6) / 2 = 0.75 against 0.6; a 0.9 / 0.7, b 0.6 / 0.5
    # test: (0.625 + 0.25) / 2 = 0.4375 against 0.375; a 0.625 / 0.5, b equal
    assert (train.gain_of_means, test.gain_of_means) == pytest.approx((25.0, 100 / 6))
    assert train.mean_of_gains == pytest.approx((200 / 7 + 20) / 2)
    assert test.mean_of_gains == pytest.approx(12.5)
    assert (test.wins, test.ties, test.losses) == (1, 1, 0)
    assert train.difference == pytest.approx(15)  # 20 and 10 points
    assert train.error == pytest.approx(5)
    assert math.isnan(train.p_value)  # two data sets tell nothing
    assert compare(fits, "mh-deoct", "cart", 2) is None


def test_the_gains_of_the_papers_own_table_are_those_computed_by_hand():
    # 81.64 / 79.41, 86.82 / 84.30, 90.24 / 87.62, 97.30 / 95.67 and the same for the test rows
    assert paper.gain_of_table("mh-deoct") == pytest.approx((2.623, 1.348), abs=0.001)


def test_the_gains_by_tuning_of_the_papers_own_tables_are_those_computed_by_hand():
    # 78.85 / 78.21, 82.71 / 81.78, 84.81 / 83.60, 87.73 / 86.31; 78.85 / 77.43 and so on
    gains = paper.tuned_gains_of_table("mh-deoct-tuned", "mh-deoct")
    assert gains == pytest.approx({2: 0.818, 3: 1.137, 4: 1.447, 8: 1.645}, abs=0.001)
    gains = paper.tuned_gains_of_table("mh-deoct-tuned", "cart-tuned")
    assert gains == pytest.approx({2: 1.834, 3: 1.910, 4: 1.911, 8: 0.804}, abs=0.001)


def test_wilcoxons_test_needs_six_differences_and_is_scipys():
    assert math.isnan(wilcoxon([1.0, 2.0, 3.0, 0.0, 0.0, 4.0, 5.0]))
    differences = [1.0, 2.0, 3.0, -0.5, 4.0, 5.0, 6.0]
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert wilcoxon([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 2**6)  # all of one sign


def ranked(accuracies):
    """Make fits whose test accuracies are ``accuracies[method][data set]``."""
    return Fits(
        made_up(method, f"set{number}", 0, 2, test=value)
        for method, values in accuracies.items()
        for number, value in enumerate(values)
    )


def test_ranks_share_ties_and_the_best_comes_first():
    fits = ranked({"a": [0.5, 0.7], "b": [0.6, 0.7], "c": [0.4, 0.2]})
    ranks = rank(fits, ["a", "b", "c"], 2)
    assert ranks.methods == ("b", "a", "c")
    assert ranks.mean_ranks == (1.25, 1.75, 3.0)  # set0: 2, 1, 3; set1: 1.5, 1.5, 3
    # Demsar (2006), table 5: q = 2.343 for three methods
    assert ranks.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / 12), abs=0.001)
    assert rank(fits, ["a"], 2) is None


def test_bars_join_the_longest_runs_of_what_is_not_distinguishable():
    n = 100
    fits = ranked({"a": [0.9] * n, "b": [0.9] * n, "c": [0.5] * n, "d": [0.4] * n})
    ranks = rank(fits, ["d", "c", "b", "a"], 2)
    assert ranks.mean_ranks == (1.5, 1.5, 3.0, 4.0)
    assert ranks.cliques == [(0, 1)]
    assert ranks.p_value < 1e-9
    few = ranked({"a": [0.9, 0.8], "b": [0.8, 0.9], "c": [0.5, 0.4]})
    assert rank(few, ["a", "b", "c"], 2).cliques == [(0, 2)]


def test_accuracies_that_a_table_rounds_differently_are_ties():
    # of twelve rows one is right in each of two splits, or two in one: the same mean
    one_way, another = [round(1 / 12, 8), round(1 / 12, 8)], [round(2 / 12, 8), 0.0]
    rows = [
        made_up(method, f"set{number}", split, 2, test=value)
        for method, accuracies in (("a", one_way), ("b", another))
        for number in range(7)
        for split, value in enumerate(accuracies)
    ]
    assert sum(one_way) != sum(another)
    found = compare(Fits(rows), "a", "b", 2)
    assert (found.wins, found.ties, found.losses) == (0, 7, 0)
    assert math.isnan(found.p_value)
    assert rank(Fits(rows), ["a", "b"], 2).mean_ranks == (1.5, 1.5)


def test_ties_are_no_wider_than_the_rounding_of_the_table():
    differences = [1.0, 1.0 + 1e-6, -2.0, 3.0, 4.0, 5.0, 6.0, -1e-6, 1e-4]
    tied = [1.0, 1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1e-4]
    assert wilcoxon(differences) == stats.wilcoxon(tied, method="approx").pvalue
    assert wilcoxon(differences) != stats.wilcoxon(differences, method="approx").pvalue


def test_a_slope_is_the_exponent_of_the_rows():
    rows = [
        made_up("a", f"s{n}", 0, 2, seconds=1e-6 * n**1.5, n_train=n) for n in (10, 100, 1000, 5000)
    ]
    rows.append(made_up("a", "tiny", 0, 2, seconds=9.0, n_train=5))  # below the least
    line = slope(Fits(rows), "a", 2, least_rows=10)
    assert (line.exponent, line.n_datasets) == (pytest.approx(1.5), 4)
    assert line.intercept == pytest.approx(-6)
    assert slope(Fits(rows), "a", 2, least_rows=100) is None


def test_speed_ups_are_of_the_same_fits():
    fits = Fits(
        [
            made_up("fast", "s", 0, 2, seconds=2.0),
            made_up("slow", "s", 0, 2, seconds=6.0),
            made_up("slow", "s", 1, 2, seconds=6.0),
        ]
    )
    assert speed_ups(fits, "fast", "slow") == [(100, 2, 3.0)]
