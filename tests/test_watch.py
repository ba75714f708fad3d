"""The watch: a deadline, Ctrl-C, and signals left as they were found."""

from __future__ import annotations

import signal
import threading

import pytest

from horizontree.search import watch
from horizontree.search.watch import QuietWatch, Watch


@pytest.fixture
def clock(monkeypatch):
    now = [50.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def handler():
    """A handler of the host program, put in for the length of a test."""
    received: list[int] = []

    def host(signum, frame):
        received.append(signum)

    host.received = received
    before = signal.signal(signal.SIGINT, host)
    yield host
    signal.signal(signal.SIGINT, before)


def test_the_seconds_left_end_at_nought(clock):
    search = Watch(10.0)
    clock[0] += 4
    assert search.seconds_left == 6
    clock[0] += 60
    assert search.seconds_left == 0
    assert Watch().seconds_left is None


def test_what_is_spent_already_counts(clock):
    assert Watch(10.0, spent=3.0).seconds_left == 7
    assert Watch(10.0, spent=12.0).should_stop()


def test_without_a_limit_nothing_stops_the_search(clock):
    search = Watch()
    clock[0] += 1e9
    assert not search.should_stop()
    assert search.status == "completed"


def test_the_limit_strikes_on_time(clock):
    search = Watch(time_limit=2.0)
    clock[0] += 1.999
    assert not search.should_stop()
    assert search.status == "completed"
    clock[0] += 0.001
    assert search.should_stop()
    assert search.status == "time_limit"


def test_a_search_that_was_never_told_to_stop_is_complete(clock):
    search = Watch(time_limit=2.0)
    assert not search.should_stop()
    clock[0] += 5  # the search ended; what follows took its time
    assert search.status == "completed"


def test_the_first_interrupt_is_a_wish_and_the_second_goes_to_the_host(handler):
    search = Watch()
    with search.catch_interrupt():
        assert not search.should_stop()
        signal.raise_signal(signal.SIGINT)
        assert search.should_stop()
        assert handler.received == []
        signal.raise_signal(signal.SIGINT)
        assert handler.received == [signal.SIGINT]
    assert search.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_wish_that_no_search_heard_goes_to_the_handler_of_the_host(handler):
    search = Watch()
    try:
        with search.catch_interrupt():
            signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pytest.fail("the host has a handler of its own, which raises nothing")
    assert handler.received == [signal.SIGINT]
    assert search.status == "completed"
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_second_interrupt_raises_as_usual():
    search = Watch()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), search.catch_interrupt():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_handler_comes_back_after_an_error(handler):
    with pytest.raises(ZeroDivisionError), Watch().catch_interrupt():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_that_the_host_ignores_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        search = Watch()
        with search.catch_interrupt():
            signal.raise_signal(signal.SIGINT)
            assert not search.should_stop()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_no_handler_is_touched(handler):
    seen = []

    def run():
        with Watch().catch_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=30)
    assert seen == [handler]


def test_a_handler_that_is_not_pythons_is_left_alone(monkeypatch):
    monkeypatch.setattr(watch.signal, "getsignal", lambda signum: None)
    changed = []
    monkeypatch.setattr(watch.signal, "signal", lambda *args: changed.append(args))
    with Watch().catch_interrupt():
        pass
    assert changed == []


def test_progress_is_passed_on():
    told = []

    class Reporter:
        def update(self, *news):
            told.append(news)

    Watch(reporter=Reporter()).report("moving horizon", 1, 3)
    assert told == [("moving horizon", 1, 3, None, None)]
    Watch().report("moving horizon", 1, 3)


def test_a_part_of_a_search_stops_with_the_whole_and_tells_nothing(clock):
    class Reporter:
        def update(self, what, *_):
            told.append(what)

    told: list[str] = []
    whole = Watch(time_limit=2.0, reporter=Reporter())
    part = QuietWatch(whole)
    whole.report("nodes", 1, 2)
    part.report("nodes of a part", 1, 2)
    assert not part.should_stop()  # the whole is told that it is still alive
    assert told == ["nodes", "nodes"]
    clock[0] += 2
    assert part.should_stop()
    assert whole.status == "time_limit"
