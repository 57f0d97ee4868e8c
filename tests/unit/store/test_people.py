"""People of a store: bounds that no restart forgets, and identities in place of identifiers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.lives import KEY, NOISE, Lives, hitters, table
from tests.unit.store.test_restarts import seen

import lazysketch as ls
from lazysketch import _native
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, LazySketchError, StoreError
from lazysketch.store import NO_ANCHOR, Store, open_store
from lazysketch.store.calls import Call

BOUND = ls.PersonBound(cells=2, events=2)
OF_LEVELS = (BOUND, ls.PersonBound(cells=3, events=2))
# Longer than a block of the cipher, and shorter.
PEOPLE = ("canary-person-7f3a@example.org", "canary-7f3a")
Opener = Callable[[Store], Any]


def sketch(store: Store, bound: ls.PersonBound | None = BOUND, **options: Any) -> Any:
    return store.sketch("a", table(person_bound=bound, max_weight=3, **options))


def counters(store: Store, bound: ls.PersonBound | None = BOUND) -> Any:
    schedule = ls.RoundRobin(horizon=9_000)
    spec = table("counters", schedule, person_bound=bound, max_weight=3)
    return store.counters("a", spec)


def names(store: Store, bound: ls.PersonBound | None = BOUND, **options: Any) -> Any:
    return store.heavy_hitters("a", hitters(person_bound=bound, max_weight=3, **options))


def listed(store: Store, bound: ls.PersonBound | None = BOUND) -> Any:
    spec = ls.HeavyHittersSpec.of(
        schedule=ls.Geometric(), domain=["a", 1], width=8, max_weight=3, person_bound=bound, **NOISE
    )
    return store.heavy_hitters("a", spec)


def batches(store: Store, bound: ls.PersonBound | None = BOUND) -> Any:
    return sketch(store, bound, schedule=ls.Batch(horizon=9_000))


def limited(store: Store) -> Any:
    return sketch(store, ls.PersonBound(cells=3, events=1, most_people=5))


def levels(store: Store, bound: Any = OF_LEVELS) -> Any:
    split = ls.Levels(("last character", "item"), lambda item: (str(item)[-1:], item))
    return store.hierarchy(
        "a", split, share=0.2, width=16, depth=2, discovery_epoch=60, epsilon=20.0, delta=1e-2,
        max_weight=3, person_bound=bound,
    )  # fmt: skip


def windows(store: Store, bound: ls.PersonBound | None = BOUND, every: int = 1_000) -> Any:
    return store.windows(
        "a", every=every, domain=["a", "b", 1], width=8, max_weight=3, person_bound=bound, **NOISE
    )


OPENERS: dict[str, Opener] = {
    "count-min": sketch,
    "counters": counters,
    "heavy hitters": names,
    "listed": listed,
    "batches": batches,
    "limited": limited,
    "levels": levels,
}


def fill(live: Any, person: object, number: int = 4) -> None:
    """Count as many events of one item and person."""
    live.update_many([1] * number, user=[person] * number)


@pytest.mark.parametrize("by_checkpoint", [False, True])
@pytest.mark.parametrize("opener", [sketch, counters, names, listed, levels, windows])
def test_a_restart_gives_no_one_another_turn(
    opener: Opener, by_checkpoint: bool, lives: Lives
) -> None:
    """An event beyond the bound is an empty step in the next life too."""
    with lives.open() as store:
        live = opener(store)
        fill(live, "x")
        (people,) = live._people().values()
        assert (people.known, people.refused) == (1, 2)
        if by_checkpoint:
            store.checkpoint()
    with lives.open() as store:
        live = opener(store)
        fill(live, "x")
        (people,) = live._people().values()
        assert (people.known, people.refused) == (1, 6)
    with lives.copied_to(lives.folder.parent / "copy").open() as store:
        (people,) = opener(store)._people().values()
        assert (people.known, people.refused) == (1, 6)


def records_of(lives: Lives) -> list[bytes]:
    store = _native.Store(str(lives.folder), key=KEY, anchor=str(lives.anchor.absolute()))
    records = store.records()
    store.close()
    return records


def everything_written(lives: Lives) -> list[bytes]:
    """Return all files, and all records of the log as one who has the key reads them."""
    files = [path.read_bytes() for path in lives.folder.parent.rglob("*") if path.is_file()]
    records = records_of(lives)
    assert len(records) >= 5
    return [*files, *records]


@pytest.mark.parametrize("opener", [sketch, levels, windows])
def test_no_identifier_is_written(opener: Opener, lives: Lives) -> None:
    """Neither to a file nor to a record before it is sealed, a release or a message."""
    with lives.open() as store:
        live, other = opener(store), store.heavy_hitters("b", hitters(person_bound=BOUND))
        live.update("a", user=PEOPLE[0])
        for one in (live, other):
            one.update_many(["a", "b"], user=PEOPLE)
            if one is other or opener is not windows:
                one.update_rows(["a", "b"], empty_rows=[1], user=PEOPLE)
            assert store.ingest(one._name, 1, ["a", "b"], into=one, user=PEOPLE)
            with pytest.raises(LazySketchError) as error:
                one.update_many(["a"], user=PEOPLE)
            assert not any(person in str(error.value) for person in PEOPLE)
            for release in one._last_published():
                assert not any(person.encode() in release for person in PEOPLE)
    for data in everything_written(lives):
        assert not any(person.encode() in data for person in PEOPLE)
    with lives.open() as store:
        live, _ = opener(store), store.heavy_hitters("b", hitters(person_bound=BOUND))
        store.checkpoint()
        files = [path.read_bytes() for path in lives.folder.rglob("*") if path.is_file()]
        saved = b"".join(files)
        assert not any(person.encode() in saved for person in PEOPLE)


def identities(lives: Lives) -> list[bytes]:
    """Return the identities of records with one event each: their last part."""
    records = [(record, Call.decoded(record)) for record in records_of(lives)]
    return [record[-16:] for record, call in records if call.user is not None]


def test_objects_know_a_person_by_different_identities(lives: Lives) -> None:
    """Records of two objects, or of two people, show nothing in common."""
    with lives.open() as store:
        first = sketch(store)
        second = store.sketch("b", table(person_bound=BOUND))
        for live in (first, second):
            for person in PEOPLE:
                live.update_many([1], user=[person])
    with lives.open() as store:
        sketch(store).update_many([1], user=[PEOPLE[0]])
        store.sketch("b", table(person_bound=BOUND))
    found = identities(lives)
    assert len(found) == 5
    assert len(set(found)) == 4
    assert found[0] == found[4]


def test_a_bound_is_a_parameter(lives: Lives) -> None:
    """Another one is refused, before and after a checkpoint."""
    with lives.open() as store:
        sketch(store).update("x", user=1)
        spec = hitters(person_bound=BOUND)
        store.heavy_hitters("b", spec).update("x", user=1)
    others: Sequence[ls.PersonBound | None] = (
        None,
        ls.PersonBound(cells=3, events=2),
        ls.PersonBound(cells=2, events=3),
        ls.PersonBound(cells=2, events=2, most_people=9),
    )
    for _ in range(2):
        with lives.open() as store:
            for bound in others:
                with pytest.raises(ArgumentValueError, match="the parameters that 'a' was made"):
                    sketch(store, bound)
                with pytest.raises(ArgumentValueError, match="the parameters that 'b' was made"):
                    store.heavy_hitters("b", hitters(person_bound=bound))
            sketch(store)
            store.heavy_hitters("b", spec)
            store.checkpoint()


def wrong_batches(live: Any) -> list[Callable[[], object]]:
    return [
        lambda: live.update_many([1, 2], user=["x"]),
        lambda: live.update_many([1, 2], user=["x", None]),
        lambda: live.update_many([1, 2], user=["x", 1.5]),
        lambda: live.update_many([1, 2], [1, 9], user=["x", "y"]),
        lambda: live.update_many([1, 2], user="xy"),
        lambda: live.update_rows([1], empty_rows=[7], user=["x"]),
        lambda: live.update_batch([1], user=["x"]),
        lambda: live.update(1, 9, user="x"),
        lambda: live.update(1, user=None),
        lambda: live.update_many([1]),
    ]


@pytest.mark.parametrize("opener", [sketch, names, limited, levels])
def test_a_refused_batch_changes_nothing(opener: Opener, lives: Lives) -> None:
    """Neither table nor contributions nor log; all events of its people still count."""
    with lives.open() as store:
        live = opener(store)
        refused = [
            *wrong_batches(live),
            lambda: store.ingest("web", 1, [1, 2], into=live, user=["x"]),
            lambda: store.ingest("web", 1, [1, 2], into=live),
        ]
        last = store._journal.last
        for call in refused:
            with pytest.raises(LazySketchError):
                call()
        (people,) = live._people().values()
        assert (people.known, people.refused, live.step) == (0, 0, 0)
        assert (store._journal.last, store.last_sequence("web")) == (last, 0)
        fill(live, "x", 1)
        assert (people.known, people.refused) == (1, 0)


@pytest.mark.parametrize(
    ("opener", "what"), [(sketch, "table has"), (levels, "levels have"), (windows, "windows have")]
)
def test_people_need_a_bound(opener: Callable[..., Any], what: str, lives: Lives) -> None:
    with lives.open() as store:
        live = opener(store, None)
        for call in (
            lambda: live.update("a", user="x"),
            lambda: live.update_many(["a"], user=["x"]),
            lambda: store.ingest("web", 1, ["a"], into=live, user=["x"], empty_rows=[0]),
            lambda: store.ingest("web", 1, ["a"], into=live, user=["x"]),
        ):
            with pytest.raises(ArgumentTypeError, match=f"user: expected none, since the {what}"):
                call()
        assert live.step == 0


def test_a_full_disk_changes_neither_table_nor_contributions(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch was counted in memory only; the next life has neither its events nor its people."""
    store = lives.open()
    live = sketch(store)
    fill(live, "x", 1)
    expected = seen(live)

    class Full:
        def append(self, _: object) -> int:
            raise StoreError("log: expected room on the disk, got none")

    monkeypatch.setattr(store._journal, "native", Full())
    with pytest.raises(StoreError, match="room on the disk"):
        live.update_many([1, 1], user=["x", "y"])
    monkeypatch.undo()
    with pytest.raises(StoreError, match="whose last change was interrupted"):
        live.release()
    store.close()
    with lives.open() as store:
        live = sketch(store)
        (people,) = live._people().values()
        assert (seen(live), people.known, people.refused) == (expected, 1, 0)


def test_a_batch_of_a_source_contributes_once(lives: Lives) -> None:
    with lives.open() as store:
        live = sketch(store)
        (people,) = live._people().values()
        assert store.ingest("web", 1, [1], into=live, user=["x"])
        assert not store.ingest("web", 1, [1], into=live, user=["x"])
        assert store.ingest("web", 2, [1, 1], into=live, user=["x", "x"], empty_rows=[0])
        assert (live.step, people.refused) == (4, 1)
    with lives.open() as store:
        live = sketch(store)
        assert not store.ingest("web", 2, [1], into=live, user=["x"])
        (people,) = live._people().values()
        assert (live.step, people.known, people.refused) == (4, 1, 1)


def test_each_era_has_contributions_of_its_own(lives: Lives, tmp_path: Path) -> None:
    """An older copy cannot know them; each era is bounded, and the account has them all."""
    with lives.open() as store:
        fill(sketch(store), "x")
    shutil.copytree(lives.folder, tmp_path / "older")
    with lives.open() as store:
        fill(sketch(store), "y")
    shutil.rmtree(lives.folder)
    shutil.copytree(tmp_path / "older", lives.folder)
    with lives.open(on_doubt="new-era") as store:
        live = sketch(store)
        (people,) = live._people().values()
        assert (people.known, people.refused) == (0, 0)
        fill(live, "x")
        assert (people.known, people.refused) == (1, 2)
        parts = store.spent.parts
        assert [part.era for part in parts] == [0, 1]
        assert {part.counts[0].person_bound for part in parts} == {BOUND}
        assert store.spent.delta == pytest.approx(2 * live.privacy.delta)
        store.checkpoint()
    # Within the era the bound goes on.
    with lives.open() as store:
        live = sketch(store)
        fill(live, "x")
        (people,) = live._people().values()
        assert (people.known, people.refused) == (1, 6)
        assert store.spent.parts == parts


def test_without_an_anchor_contributions_begin_anew_in_each_life(tmp_path: Path) -> None:
    for life in range(1, 4):
        with open_store(tmp_path / "s", key=KEY, anchor=NO_ANCHOR) as store:
            live = sketch(store)
            (people,) = live._people().values()
            assert people.known == 0
            fill(live, "x")
            assert people.refused == 2
            assert len(store.spent.parts) == life
            live.release()


def test_without_a_state_contributions_begin_anew_in_each_life(tmp_path: Path) -> None:
    """Releases only: each life spends the guarantee of everything that a person does in it."""
    spec = table(person_bound=BOUND)
    for life in (1, 2):
        with ls.ReleasesOnly(tmp_path / "r.lzs", spec) as lives:
            fill(lives.sketch, "x")
            people = _native.People.of_table(lives.sketch)
            assert people is not None
            assert (people.known, people.refused) == (1, 2)
            assert len(lives.spent.parts) == life
            assert {part.counts[0].person_bound for part in lives.spent.parts} == {BOUND}
    release = ls.Release.load(tmp_path / "r.lzs")
    assert {part.privacy.person_bound for part in release.parts} == {BOUND}
    assert PEOPLE[0].encode() not in (tmp_path / "r.lzs").read_bytes()
    with pytest.raises(ArgumentValueError, match="expected the description of the lives"):
        ls.ReleasesOnly(tmp_path / "r.lzs", table(person_bound=ls.PersonBound(cells=9)))


def test_a_checkpoint_without_contributions_is_refused(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Going on without them would let everyone contribute again."""
    with lives.open() as store:
        live = sketch(store)
        fill(live, "x")
        monkeypatch.setattr(type(live), "_people", lambda _: {})
        store.checkpoint()
        monkeypatch.undo()
    with lives.open() as store, pytest.raises(StoreError, match="contributions of people to each"):
        sketch(store)


@pytest.mark.parametrize("opener", [sketch, levels, windows])
def test_a_closed_store_knows_no_one(opener: Opener, lives: Lives) -> None:
    with lives.open() as store:
        live = opener(store)
        fill(live, "x")
        (people,) = live._people().values()
    assert people.known == 0
