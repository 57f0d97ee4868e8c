"""States of the command that count a row twice, lose one, or take another file for the same."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_STATES"]

_POSITIONS: Final = "lazysketch.sources.io.positions"
_STATE: Final = "lazysketch.cli.run.state"
_TESTS: Final = "tests/unit/sources/io/test_positions.py"
_RUNS: Final = "tests/unit/cli/run/test_states.py"
_WINDOWS: Final = "tests/unit/cli/run/test_states_of_windows.py"
_DEFINED: Final = "tests/unit/cli/run/test_definitions_of_states.py"

BUGS_OF_STATES: Final = (
    PlantedBug(
        name="files-are-counted-again",
        subject="durable state",
        claim="Each run counts all rows of a file, also those that were counted.",
        caught_by=f"{_TESTS}::test_only_what_was_added_is_new",
        patch=edited(
            f"{_POSITIONS}:Positions._continued",
            (
                "reading.rows = reading.counted_before = known.rows",
                "reading.counted_before = known.rows",
            ),
        ),
    ),
    PlantedBug(
        name="position-one-batch-behind",
        subject="durable state",
        claim="The position in the record of a batch is that before the batch.",
        caught_by=f"{_TESTS}::test_every_format_goes_on_after_any_row[csv]",
        patch=edited(
            f"{_POSITIONS}:Place.after",
            ("rows=self.before + rows", "rows=self.before"),
        ),
    ),
    PlantedBug(
        name="rewritten-files-go-on",
        subject="durable state",
        claim="A file with other content before the position is read on from there.",
        caught_by=f"{_TESTS}::test_a_file_that_changed_is_refused[rewritten]",
        patch=edited(
            f"{_POSITIONS}:Positions._continued",
            (
                "if reading.position.digest == known.digest:",
                "if reading.size == known.size:",
            ),
        ),
    ),
    PlantedBug(
        name="copies-are-counted-again",
        subject="durable state",
        claim="A file that an editor or rsync has written anew is counted again as a whole.",
        caught_by=f"{_TESTS}::test_a_copy_in_the_place_of_its_file_goes_on",
        patch=edited(
            f"{_POSITIONS}:Positions._copied",
            ("if gone is None:", "if True:"),
        ),
    ),
    PlantedBug(
        name="copies-take-the-place-of-what-is-there",
        subject="durable state",
        claim="A copy goes on though its file is still there: rows of a second file are lost.",
        caught_by=f"{_TESTS}::test_a_copy_in_the_place_of_its_file_goes_on",
        patch=edited(
            f"{_POSITIONS}:Positions._copied",
            ("if not self._is_there(number)", "if number"),
        ),
    ),
    PlantedBug(
        name="digest-without-a-key",
        subject="durable state",
        claim="The digest of a position has no key, so that it confirms guesses of the content.",
        caught_by=f"{_TESTS}::test_another_secret_confirms_nothing",
        patch=edited(
            f"{_POSITIONS}:FileReading.__init__",
            (
                "hashlib.blake2b(key=secret, digest_size=_DIGEST_BYTES)",
                "hashlib.blake2b(digest_size=_DIGEST_BYTES)",
            ),
        ),
    ),
    PlantedBug(
        name="name-instead-of-inode",
        subject="durable state",
        claim="A file is known by its name: after rotation its last rows are counted as new ones.",
        caught_by=f"{_TESTS}::test_rotation",
        patch=edited(
            f"{_POSITIONS}:Positions._number_of",
            (
                "if (p.device, p.inode) == identity)",
                "if identity and p.rows < 0)",
            ),
        ),
    ),
    PlantedBug(
        name="batches-without-their-position",
        subject="durable state",
        claim="A batch is logged without its position: after a crash it is counted again.",
        caught_by=f"{_RUNS}::test_a_run_goes_on_where_the_last_one_stopped",
        patch=edited(
            f"{_STATE}_counting:Counting._count",
            ("if place is None:", "if place is not None:"),
        ),
    ),
    PlantedBug(
        name="other-options-are-ignored",
        subject="accounting",
        claim="A run with another epsilon goes on without a word about it.",
        caught_by=f"{_RUNS}::test_other_options_are_refused[epsilon]",
        patch=edited(
            f"{_STATE}:State.defined",
            ("if given and value != known[name] and not is_open:", "if given and value != value:"),
        ),
    ),
    PlantedBug(
        name="field-of-each-run",
        subject="durable state",
        claim="The field is no part of what the first run defines: each run counts its own.",
        caught_by=f"{_DEFINED}::test_what_is_counted_is_that_of_the_first_run",
        patch=edited(
            f"{_STATE}:State.defined",
            (
                "if name not in fields or name not in known:",
                "if name not in fields or name not in known or name == 'field':",
            ),
        ),
    ),
    PlantedBug(
        name="guessed-fields-are-mixed",
        subject="durable state",
        claim="A guessed field is not kept: a file of another format adds names of another kind.",
        caught_by=f"{_DEFINED}::test_a_field_that_was_guessed_is_kept",
        patch=edited(
            f"{_STATE}:State.reads",
            ("if not self.definition.knows_field:", "if False:"),
            ("if field != known:", "if False:"),
        ),
    ),
    PlantedBug(
        name="horizon-of-each-run",
        subject="schedule",
        claim="Each run takes as many steps as the horizon of all.",
        caught_by=f"{_RUNS}::test_a_horizon_holds_for_all_runs",
        patch=edited(
            "lazysketch.cli.run.controller:count",
            ("else horizon - done_before", "else horizon + 0 * done_before"),
        ),
    ),
    PlantedBug(
        name="rows-without-items-have-no-position",
        subject="durable state",
        claim="Windows of a range drop rows without an item: the next run counts others again.",
        caught_by=f"{_WINDOWS}::test_windows_of_a_range_end_with_the_stream[top]",
        patch=edited(
            "lazysketch.sources.feed:_feed",
            ("if update_rows is not None and batch.empty_rows:", "if False:"),
        ),
    ),
    PlantedBug(
        name="windows-end-with-their-run",
        subject="durable state",
        claim="A run ends the open window of a state, which the next one counts into.",
        caught_by=f"{_WINDOWS}::test_a_run_goes_on_where_the_last_one_stopped[top]",
        patch=edited(
            "lazysketch.cli.run.windowed:RunOfWindows._end",
            ("goes_on = self._holds_back and self._is_kept", "goes_on = False"),
            ("if self._holds_back and not self._is_kept:", "if False:"),
        ),
    ),
    PlantedBug(
        name="stream-ends-with-its-input",
        subject="durable state",
        claim="The end of an input ends the stream of a state, so that no run can go on.",
        caught_by=f"{_RUNS}::test_a_run_goes_on_where_the_last_one_stopped",
        patch=edited(
            "lazysketch.cli.run.controller:count",
            ("if state is not None and not state.finishes:", "if False:"),
        ),
    ),
)
