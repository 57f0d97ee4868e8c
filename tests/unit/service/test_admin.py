"""What the operator does: streams, exports, other tokens and another key, without a restart."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.service.publications import Service, run, settings

import lazysketch as ls
from lazysketch.errors import StoreError
from lazysketch.service.admin.application import _ADDRESSES, admin_application
from lazysketch.service.admin.operations import Operations
from lazysketch.service.host import Host
from lazysketch.service.ingest.counters import IngestCounters
from lazysketch.service.publication import SignedPublication
from lazysketch.service.settings import ServiceSettings, read_settings
from lazysketch.service.tokens import new_token, token_hash

BEARER = "Authorization"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def host(service: Service) -> Iterator[Host]:
    host = service.host(settings())
    yield host
    host.close()


def client(service: Service, host: Host, chosen: ServiceSettings) -> TestClient:
    operations = Operations(host, service.folder / "store", counters=IngestCounters())
    return TestClient(admin_application(host, chosen, operations))


def written(folder: Path, ingest: dict[str, str], admin: dict[str, str]) -> ServiceSettings:
    """Write a file of settings with the hashes of tokens, and read it."""
    path = folder / "service.toml"
    lines = ["[streams.pages]"]
    for face, tokens in (("ingest", ingest), ("admin", admin)):
        lines += [f"[{face}.tokens]", *(f'{name} = "{one}"' for name, one in tokens.items())]
    path.write_text("\n".join(lines) + "\n")
    return read_settings(path)


def test_tokens_are_replaced_without_a_restart(service: Service, host: Host) -> None:
    old, new, sender = new_token(), new_token(), new_token()
    chosen = written(service.folder, {}, {"me": token_hash(old)})
    operator = client(service, host, chosen)
    assert operator.get("/v1/streams").status_code == 401
    written(service.folder, {"web": token_hash(sender)}, {"you": token_hash(new)})
    answer = operator.post("/v1/rotate/tokens", headers={BEARER: f"Bearer {old}"})
    assert answer.json() == {"owners": {"ingest": ["web"], "admin": ["you"]}}
    assert operator.get("/v1/streams", headers={BEARER: f"Bearer {old}"}).status_code == 401
    assert operator.get("/v1/streams", headers={BEARER: f"Bearer {new}"}).status_code == 200
    assert chosen.ingest.tokens.owner(f"Bearer {sender}".encode()) == "web"
    assert chosen.ingest.tokens.owner(None) is None


def test_wrong_tokens_replace_nothing(service: Service, host: Host) -> None:
    """All addresses take their new tokens, or none does."""
    token, sender = new_token(), new_token()
    chosen = written(service.folder, {"web": token_hash(sender)}, {"me": token_hash(token)})
    operator = client(service, host, chosen)
    header = {BEARER: f"Bearer {token}"}
    for ingest, admin in (
        ({"web": token_hash(new_token())}, {}),
        ({}, {"me": token_hash(new_token())}),
        ({"web": "00"}, {"me": token_hash(new_token())}),
    ):
        path = service.folder / "service.toml"
        if "00" in ingest.values():
            path.write_text('[ingest.tokens]\nweb = "00"\n')
        else:
            written(service.folder, ingest, admin)
        assert operator.post("/v1/rotate/tokens", headers=header).status_code == 400
        assert operator.get("/v1/streams", headers=header).status_code == 200
        assert chosen.ingest.tokens.owner(f"Bearer {sender}".encode()) == "web"
    without = client(service, host, replace(chosen, file=None))
    answer = without.post("/v1/rotate/tokens", headers=header)
    assert answer.json()["error"]["argument"] == "settings"


def test_another_key_opens_the_store_from_the_next_start_on(service: Service) -> None:
    host = service.host(settings())
    run(service, host, slices=7, events=lambda _: ["/"] * 100)
    before = host.files.read_signed("pages")
    operator = client(service, host, ServiceSettings())
    path = service.folder.with_name("new.key")
    assert operator.post("/v1/rotate/key", json={"new_key": str(path)}).status_code == 200
    for wrong in (
        {"new_key": str(path)},
        {"new_key": str(service.folder / "inside.key")},
        {"new_key": 1},
        {"new_key": str(path), "more": 1},
        {},
    ):
        assert operator.post("/v1/rotate/key", json=wrong).status_code == 400
    host.stream("pages").counts.update_many(["/"] * 100)
    host.close()
    with pytest.raises(StoreError, match="key"):
        service.host(settings())
    service.key = ls.Key.from_file(path)
    again = service.host(settings())
    assert again.public_key == host.public_key
    ready = int(service.clock.now) * 10**9
    assert before is not None
    assert again.stream("pages").publication(ready=lambda: ready).manifest() == before.manifest
    again.close()


def test_an_export_has_what_was_published(service: Service, host: Host) -> None:
    operator = client(service, host, ServiceSettings())
    address = "/v1/streams/pages/export"
    assert operator.get(address).json()["error"]["argument"] == "stream"
    for method, path in (("GET", "export"), ("POST", "finish")):
        unknown = operator.request(method, f"/v1/streams/none/{path}")
        assert unknown.status_code == 404
        assert unknown.json()["error"]["argument"] == "stream"
    run(service, host, slices=7, events=lambda _: ["/"] * 100)
    answer = operator.get(address)
    assert answer.headers["content-type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        member = archive.extractfile("streams/pages/publication")
        assert member is not None
        signed = SignedPublication.from_bytes(member.read())
    assert signed == host.files.read_signed("pages")


def test_streams_are_added_while_the_service_runs(service: Service, host: Host) -> None:
    operator = client(service, host, ServiceSettings())
    chosen = {"every": "1min", "levels": "dns", "share": 0.05}
    answer = operator.post("/v1/streams", json={"name": "names", **chosen})
    assert (answer.status_code, answer.json()) == (201, {"created": "names"})
    assert host.facts.streams == ("pages", "names")
    assert host.stream("names").facts.levels == ("1 labels", "2 labels", "3 labels", "name")
    for wrong, argument in (
        ({"name": "names", **chosen}, "name"),
        ({"name": "more", "follow": "/var/log/syslog"}, "follow"),
        ({"name": "more", "webhook": "https://example.org"}, "webhook"),
        (
            {"name": "more", "alerts": [{"above": 1}], "alert_webhook": "https://example.org"},
            "alert_webhook",
        ),
        ({"name": "more", "levels": "none"}, "streams.more.levels"),
        ({"name": "../x"}, "streams.../x.name"),
    ):
        answer = operator.post("/v1/streams", json=wrong)
        assert (answer.status_code, answer.json()["error"]["argument"]) == (400, argument)
    assert host.store.names == ("names", "pages")


def test_what_was_spent_is_stated_without_a_sum_for_mixed_relations(
    service: Service, host: Host
) -> None:
    """Each part is stated, and no sum that no theorem gives."""
    operator = client(service, host, ServiceSettings())
    assert operator.get("/v1/spent").json()["sentence"] == "(4, 1e-06)-DP in 1 era"
    host.open_streams([settings(name="other", relation="zero-out", epsilon=2.0)])
    answer = operator.get("/v1/spent")
    assert answer.status_code == 200
    assert answer.json()["sentence"] == (
        "(4, 1e-06)-DP per event (substitution) and (2, 1e-06)-DP per event (zero-out), "
        "which have no sum, in 1 era"
    )
    found = [(one["stream"], one["epsilon"]) for one in answer.json()["parts"]]
    assert found == [("pages", 4.0), ("other", 2.0)]


def test_every_address_needs_a_token(service: Service, host: Host) -> None:
    chosen = written(service.folder, {}, {"me": token_hash(new_token())})
    operator = client(service, host, chosen)
    for path in ("/v1/streams", "/v1/streams/pages/export", "/v1/spent", "/metrics", "/readyz"):
        assert operator.get(path).status_code == 401
    for path in ("/v1/streams", "/v1/rotate/tokens", "/v1/rotate/key", "/v1/checkpoint"):
        assert operator.post(path).status_code == 401


def test_the_document_has_every_address_and_no_other(service: Service, host: Host) -> None:
    """What a sender and the operator may ask for, as it is answered."""
    operator = client(service, host, ServiceSettings())
    document = operator.get("/openapi.json").json()
    described = {
        (method.upper(), path) for path in document["paths"] for method in document["paths"][path]
    }
    described.discard(("SERVERS", "/v1/streams/{name}/events"))
    described.remove(("POST", "/v1/streams/{name}/events"))  # of senders
    assert described == {one[:2] for one in _ADDRESSES} - {("GET", "/openapi.json")}
    run(service, host, slices=1, events=lambda _: ["/"])
    for method, path in sorted(described):
        known = document["paths"][path][method.lower()]["responses"]
        answer = operator.request(method, path.replace("{name}", "pages"))
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in known[str(answer.status_code)]["content"], path
    codes = document["paths"]["/v1/streams/{name}/events"]["post"]["responses"]
    assert {"200", "401", "404", "413", "503"} <= codes.keys()
    locked = client(service, host, written(service.folder, {}, {"me": token_hash(new_token())}))
    assert locked.get("/openapi.json").status_code == 401
