"""Keyword arguments of the public private classes: refusals, signatures, docstrings, checks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lazysketch as ls
from lazysketch.arguments import checked_integer, checked_integers, checked_real
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.heavy_hitters import tables
from lazysketch.heavy_hitters.hitters_spec import HittersOptions
from lazysketch.privacy import calibrate
from lazysketch.sketches import private_table
from lazysketch.sketches.private_sketches import SketchOptions
from lazysketch.specification import table_spec
from lazysketch.specification.table_spec import TableOptions

PRIVACY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}
SIZE: dict[str, Any] = {"depth": 2, "width": 16}
LEVELS = ls.ipv4_prefixes((8, 32))


def hierarchical(*positional: Any, **options: Any) -> ls.HierarchicalHeavyHitters:
    """Construct with the one positional argument that a public class takes."""
    return ls.HierarchicalHeavyHitters(LEVELS, *positional, **options)


# Each public private class: how it is called, and the arguments that it needs besides privacy.
CLASSES: dict[type, tuple[Callable[..., Any], dict[str, Any]]] = {
    ls.LazyCountMin: (ls.LazyCountMin, SIZE),
    ls.LazyCountSketch: (ls.LazyCountSketch, SIZE),
    ls.PunctualCountMin: (ls.PunctualCountMin, {**SIZE, "horizon": 10}),
    ls.PunctualCountSketch: (ls.PunctualCountSketch, {**SIZE, "horizon": 10}),
    ls.ContinualCounters: (ls.ContinualCounters, {"counters": 3}),
    ls.HeavyHitters: (ls.HeavyHitters, {"share": 0.1}),
    ls.HierarchicalHeavyHitters: (hierarchical, {"share": 0.1}),
    ls.Windows: (ls.Windows, {"every": 1_000, "share": 0.1}),
    ls.Sliding: (ls.Sliding, {"every": "1s", "span": "4s", "share": 0.1}),
}
FINDERS = {ls.HeavyHitters, ls.HierarchicalHeavyHitters, ls.Windows, ls.Sliding}
OPTIONS: dict[type, Any] = {
    owner: HittersOptions
    if owner in FINDERS
    else TableOptions
    if owner is ls.ContinualCounters
    else SketchOptions
    for owner in CLASSES
}
every_class = pytest.mark.parametrize("owner", CLASSES, ids=lambda owner: owner.__name__)


def refusal(owner: type, *positional: Any, **options: Any) -> str:
    """Return the message with which a class refuses arguments."""
    with pytest.raises(ArgumentTypeError) as caught:
        CLASSES[owner][0](*positional, **options)
    return str(caught.value)


@every_class
def test_positional_arguments_are_refused_with_an_example(owner: type) -> None:
    for positional in ((3,), (3, 1024, 1.0)):
        message = refusal(owner, *positional, **PRIVACY)
        assert message.startswith(f"{owner.__name__}: expected keyword arguments, as in ")
        assert f"as in {owner.__name__}(" in message
        assert message.endswith(f"got {len(positional)} positional")


@every_class
def test_eps_is_answered_with_epsilon(owner: type) -> None:
    message = refusal(owner, eps=1, delta=1e-8, **CLASSES[owner][1])
    expected = f"expected an argument of {owner.__name__} (epsilon?), got an unknown name"
    assert message == f"eps: {expected}"


@every_class
@pytest.mark.parametrize("missing", ["epsilon", "delta"])
def test_a_missing_privacy_parameter_is_answered_with_an_example(owner: type, missing: str) -> None:
    given = {name: value for name, value in PRIVACY.items() if name != missing}
    message = refusal(owner, **given, **CLASSES[owner][1])
    assert message.startswith(f"{missing}: expected a value, as in {owner.__name__}(")
    assert re.search(r"epsilon=1\.0, delta=1e-8", message)


@every_class
@pytest.mark.parametrize("name", ["k", "phi"])
def test_names_from_the_literature_are_answered_with_share(owner: type, name: str) -> None:
    message = refusal(owner, **{name: 10}, **PRIVACY, **CLASSES[owner][1])
    meant = " (share?)" if owner in FINDERS else ""
    expected = f"expected an argument of {owner.__name__}{meant}, got an unknown name"
    assert message == f"{name}: {expected}"


@every_class
def test_the_examples_of_the_messages_run(owner: type) -> None:
    example = re.search(rf"as in ({owner.__name__}\(.*\)), got", refusal(owner, 1, **PRIVACY))
    assert example
    made: Any = eval(example[1], vars(ls).copy())
    assert type(made) is owner
    made.close()  # type: ignore[attr-defined]


@every_class
def test_the_signature_has_every_option_once(owner: type) -> None:
    parameters = inspect.signature(owner).parameters
    assert set(OPTIONS[owner].__annotations__) <= set(parameters)
    kinds = {parameter.kind for name, parameter in parameters.items() if name != "levels"}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    required = {name for name in ("epsilon", "delta") if name in parameters}
    assert required == {"epsilon", "delta"}
    assert all(parameters[name].default is inspect.Parameter.empty for name in required)
    assert parameters["max_events_per_user"].default == 1


@every_class
def test_the_docstring_describes_every_argument_once(owner: type) -> None:
    text = inspect.getdoc(owner) or ""
    described = re.findall(
        r"^    (\w+): ", text.partition("\nArgs:\n")[2].partition("\n\n")[0], re.M
    )
    assert sorted(described) == sorted(inspect.signature(owner).parameters)


@pytest.mark.parametrize("owner", [ls.HeavyHitters, ls.HierarchicalHeavyHitters, ls.Windows])
def test_the_default_memory_depends_on_the_class(owner: type) -> None:
    assert inspect.signature(owner).parameters["memory"].default is None
    assert "None 64 MiB, and 256 MiB for all open windows" in " ".join(
        (owner.__doc__ or "").split()
    )


@pytest.mark.parametrize("owner", [ls.PunctualCountMin, ls.PunctualCountSketch])
def test_punctual_sketches_have_no_schedule(owner: type) -> None:
    assert "schedule" not in inspect.signature(owner).parameters
    message = refusal(owner, schedule="punctual", **PRIVACY, **CLASSES[owner][1])
    assert message.startswith(f"schedule: expected an argument of {owner.__name__}")


@pytest.fixture
def tables_made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The description of each native private table, in order of construction."""
    made: list[object] = []

    def counting(native: Any) -> SimpleNamespace:
        def constructor(cls: type, spec: object, **options: Any) -> object:
            made.append(spec)
            return native.__new__(cls, spec, **options)

        return SimpleNamespace(__new__=constructor)

    names = {"HeavySketch": tables, "PrivateSketch": private_table}
    for name, module in names.items():
        native = getattr(module._native, name)
        monkeypatch.setattr(module, "_native", SimpleNamespace(**{name: counting(native)}))
    return made


@pytest.mark.parametrize("every", [1_000, "1h"])
@pytest.mark.parametrize("wanted", [{"share": 0.1}, {"domain": ["a", "b"]}])
def test_windows_make_one_table(
    every: str | int, wanted: dict[str, Any], tables_made: list[object]
) -> None:
    ls.Windows(every=every, **PRIVACY, **wanted).close()
    assert len(tables_made) == 1


def test_windows_of_a_range_make_one_table_each(tables_made: list[object]) -> None:
    windows = ls.Windows(every="6h", begin="2026-01-01", end="2026-01-02", share=0.1, **PRIVACY)
    windows.close()
    assert len(tables_made) == 4


@pytest.mark.parametrize("every", [1_000, "1h"])
@pytest.mark.parametrize(
    "wrong", [{"share": 2.0}, {"width": 0}, {"memory": 1}, {"epsilon": 0}, {"key": 5}, {"keep": 0}]
)
def test_refused_windows_make_no_table(
    every: str | int, wrong: dict[str, Any], tables_made: list[object]
) -> None:
    (name,) = wrong
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=f"^{name}: "):
        ls.Windows(**{"every": every, "share": 0.1, **PRIVACY, **wrong})
    assert tables_made == []


@every_class
def test_the_noise_is_calibrated_once(owner: type, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(**arguments: Any) -> Any:
        calls.append(arguments)
        return calibrate(**arguments)

    monkeypatch.setattr(table_spec, "calibrate", counting)
    # A width that is not given follows from the noise, which is calibrated for that first.
    size = {"width": 64} if owner in FINDERS else {}
    made = CLASSES[owner][0](**PRIVACY, **CLASSES[owner][1], **size)
    if hasattr(made, "spec"):
        assert made.spec.privacy.epsilon == pytest.approx(1.0)
    # A hierarchy searches for the privacy of its levels, but never calibrates twice for the same.
    assert len(calls) == len({(call["epsilon"], call["delta"]) for call in calls})
    if owner is not ls.HierarchicalHeavyHitters:
        assert len(calls) == 1
    made.close()


def test_checked_integer() -> None:
    assert checked_integer("depth", np.uint8(3)) == 3
    assert type(checked_integer("depth", np.uint8(3))) is int
    assert checked_integer("step", 0, least=0) == 0
    for wrong in (3.0, True, np.True_, "3", None, np.timedelta64(3)):
        with pytest.raises(ArgumentTypeError, match="^depth: expected an integer from 1 to 64"):
            checked_integer("depth", wrong, most=64)
    for wrong in (0, 65, 10**400):
        with pytest.raises(ArgumentValueError, match="^depth: expected an integer from 1 to 64"):
            checked_integer("depth", wrong, most=64)


def test_checked_integers() -> None:
    assert checked_integers("cells", (2, 0)).tolist() == [2, 0]
    assert checked_integers("cells", []).dtype == np.int64
    for wrong in (3, "12", [1.0], [True], [[1]], [None]):
        with pytest.raises(ArgumentTypeError, match="^cells: expected "):
            checked_integers("cells", wrong)
    for outside in ([-1], [8], [2**70]):
        with pytest.raises(ArgumentValueError, match="^cells: expected integers from 0 to 7"):
            checked_integers("cells", outside, most=7)


def test_checked_real() -> None:
    assert checked_real("epsilon", np.float32(0.5)) == 0.5
    for wrong in ("1", True, 1j, None, [1.0]):
        with pytest.raises(ArgumentTypeError, match="^epsilon: expected a finite number above 0"):
            checked_real("epsilon", wrong)
    for wrong in (0, -1.0, float("nan"), float("inf"), 10**400):
        with pytest.raises(ArgumentValueError, match="^epsilon: expected a finite number above 0"):
            checked_real("epsilon", wrong)
