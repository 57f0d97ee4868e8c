"""What a new stream may not say, though one that is stored goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.service.publications import Service, settings

from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.service import host as hosts
from lazysketch.service.definitions import check_streams
from lazysketch.service.stream_settings import StreamSettings

RANGES: dict[str, Any] = {
    "kind": "ranges",
    "every": "1min",
    "slices": 6,
    "width": 64,
    "horizon": 99,
}
BOUNDS: list[dict[str, Any]] = [
    {"share": 0.1, "width": 64, "max_weight": 9},
    {"every": "10s", "span": "1min", "keep": 6, "share": 0.1, "width": 64, "max_weight": 9},
    {**RANGES, "max_weight": 9},
]


@pytest.mark.parametrize("values", BOUNDS)
def test_a_largest_weight_of_events_without_weights_is_refused(
    values: dict[str, Any], tmp_path: Path
) -> None:
    """Before any stream of the settings is made, as what it was made with would stand."""
    service = Service(tmp_path)
    host = service.host()
    with pytest.raises(ArgumentTypeError, match=r"^streams\.bytes\.max_weight: expected weight"):
        host.open_streams([settings(), StreamSettings.from_mapping("bytes", values)])
    assert not host.store.names
    host.open_streams(
        [settings(), StreamSettings.from_mapping("bytes", {**values, "weight": "size"})]
    )
    assert set(host.store.names) == {"pages", "bytes"}
    host.close()


@pytest.mark.parametrize("values", BOUNDS)
def test_a_stored_stream_goes_on_with_it(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, chosen = Service(tmp_path), StreamSettings.from_mapping("bytes", values)
    with monkeypatch.context() as patch:  # as the version before, which did not check
        patch.setattr(hosts, "check_new_stream", lambda _: None)
        service.host(chosen).close()
    host = service.host(chosen)
    host.stream("bytes").counts.update_many([1, 2, 3])
    host.close()


VALUES: dict[str, Any] = {"kind": "values", "low": 0, "high": 9, "bins": 5, "every": "1min"}
SMALL: dict[str, Any] = {"share": 0.1, "width": 64}


@pytest.mark.parametrize("values", [SMALL, {**SMALL, "every": "1min"}, VALUES, RANGES])
@pytest.mark.parametrize(("name", "bound"), [("cells", 3), ("per_cell", 2), ("most_people", 1_000)])
def test_a_bound_of_people_without_their_field_is_refused(
    values: dict[str, Any], name: str, bound: int, tmp_path: Path
) -> None:
    """Whoever gives a bound expects people to be protected, and without the field none is."""
    host = Service(tmp_path).host()
    with pytest.raises(ArgumentTypeError, match=rf"^streams\.visits\.{name}: expected user too"):
        host.open_streams([StreamSettings.from_mapping("visits", {**values, name: bound})])
    assert not host.store.names
    host.close()


@pytest.mark.parametrize("values", [VALUES, RANGES])
@pytest.mark.parametrize("name", ["cells", "per_cell"])
def test_a_bound_of_cells_is_refused_where_events_are_bounded(
    values: dict[str, Any], name: str, tmp_path: Path
) -> None:
    host = Service(tmp_path).host()
    of_people = {**values, "user": "name"}
    with pytest.raises(ArgumentTypeError, match=rf"{name}: expected none for .*per_person"):
        host.open_streams([StreamSettings.from_mapping("visits", {**of_people, name: 7})])
    host.open_streams([StreamSettings.from_mapping("visits", {**of_people, "most_people": 9})])
    host.close()


def test_long_settings_are_refused_before_a_state_is_made() -> None:
    """A list of items that is long is of the configuration alone; other settings are kept."""
    long = "https://example.org/" + "x" * 1_900
    rules = [{"above": number, "item": "x" * 90} for number in range(1, 30)]
    values = {"every": "1min", "epsilon": 1.0, "share": 0.1, "width": 64, "alerts": rules}
    values |= {"webhook": long, "alert_webhook": long}
    chosen = StreamSettings.from_mapping("pages", values)
    check_streams([chosen])
    followed = StreamSettings.from_mapping("pages", {**values, "follow": "/" + "y" * 1_900})
    with pytest.raises(ArgumentValueError, match=r"streams\.pages\.settings: .* 9,000 characters"):
        check_streams([followed])
    listed = {**values, "share": None, "domain": [f"{number:09}" for number in range(1_000)]}
    check_streams([StreamSettings.from_mapping("pages", listed)])
