"""``horizontree doctor``, and other words about devices."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from horizontree.backends import DeviceError, roofline
from horizontree.backends.jax_backend import JAXBackend
from horizontree.backends.roofline import Device, device_of
from horizontree.cli import doctor
from horizontree.cli.main import main
from horizontree.estimators.base import BaseTreeClassifier


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(doctor, "_ROWS_TO_COUNT", {True: 3_000, False: 3_000})
    monkeypatch.setattr(doctor, "measured_processor", lambda: Device(1e10))


def test_the_doctor_finds_backends_that_agree(output_of: Callable[..., str]) -> None:
    text = output_of("doctor", "--quick")
    assert "cpu: works" in text
    assert "jax: works: " in text
    assert text.count("same tree") == 3
    assert "DIFFERENT" not in text
    assert "sample-trees/s" in text
    report = json.loads(output_of("doctor", "--quick", "--json"))
    assert set(report) == {"versions", "machine", "backends", "agreement", "throughput"}
    assert report["throughput"]["jax"]["sample_trees_per_second"] > 0
    assert report["throughput"]["jax"]["roofline"] > 0


def test_the_doctor_sees_a_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = BaseTreeClassifier._keep

    def keep_no_tree(self: BaseTreeClassifier, found: object, problem: object) -> None:
        keep(self, found, problem)  # type: ignore[arg-type]
        if self.backend == "jax":  # type: ignore[attr-defined]
            self.tree_ = type(self.tree_)(*(array[:1] for array in _arrays(self.tree_)))

    def _arrays(tree: object) -> list[object]:
        return [getattr(tree, name) for name in doctor._TREE_ARRAYS]

    monkeypatch.setattr(BaseTreeClassifier, "_keep", keep_no_tree)
    assert main(["doctor", "--quick"]) == 2
    captured = capsys.readouterr()
    assert "DIFFERENT TREES" in captured.out
    assert "does not do what it should" in captured.err


def test_a_failure_is_a_finding_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise DeviceError("no memory left")

    monkeypatch.setattr(JAXBackend, "evolve_together", fail)
    monkeypatch.setattr(JAXBackend, "load", fail)
    assert main(["doctor", "--quick"]) == 2
    text = capsys.readouterr().out
    assert text.count("failed: DeviceError: no memory left") == 3
    assert text.count("same tree") == 1
    assert "versions" in text


def test_memory_is_read_not_imagined() -> None:
    device = roofline.measured_processor(1 << 24)
    assert 1e8 < device.bandwidth < 1e13


def test_the_doctor_says_what_is_missing(
    output_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "horizontree.backends.jax_backend", None)
    text = output_of("doctor", "--quick")
    assert 'jax: not there: backend="jax" needs JAX' in text
    assert "nothing to compare" in text


def test_a_fit_that_asks_for_jax_in_vain_is_refused_before_the_data_is_read(
    refusal_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "horizontree.backends.jax_backend", None)
    message = refusal_of("fit", "no.csv", "--target", "y", "--backend", "jax")
    assert "pip install" in message
    assert "no.csv" not in message


def test_a_fit_on_jax_says_so(data: str, output_of: Callable[..., str]) -> None:
    arguments = ["fit", data, "--target", "y", "--depth", "2", "--output", "model.json"]
    on_jax = output_of(*arguments, "--backend", "jax")
    assert "backend='jax'" in output_of("show", "model.json")
    assert on_jax.splitlines()[:4] == output_of(*arguments, "--backend", "cpu").splitlines()[:4]


def test_the_model_of_a_device_is_the_lower_of_two_roofs() -> None:
    assert Device(3e9, 1e15).sample_trees(2) == 1e9
    assert Device(3e9, 1e15).sample_trees(2, code_bytes=4) == 0.25e9
    assert Device(1e15, 12e9).sample_trees(2) == 1e9
    assert Device(7e9).sample_trees(3) == 1e9
    assert device_of("NVIDIA A100-SXM4-40GB") == roofline.KNOWN["A100"]
    assert device_of("NVIDIA A100-SXM4-80GB") == roofline.KNOWN["A100.*80GB"]
    assert device_of("NVIDIA L40S") == roofline.KNOWN["L40S?"]
    assert device_of("NVIDIA T400 4GB") is None
    assert device_of("an abacus") is None
