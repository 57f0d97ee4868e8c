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
