"""The group of verbs; every failure becomes one line on standard error and an exit status."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lazysketch.cli.configuration import PREFIX, check_environment, options_of
from lazysketch.cli.ordered_group import OrderedGroup
from lazysketch.cli.run.exit_status import FAILED, INTERRUPTED, READER_GONE
from lazysketch.cli.run.signals import Signals
from lazysketch.cli.verbs import SHORT_HELP, Verbs
from lazysketch.cli.view.output import tell
from lazysketch.errors import HorizonError, LazySketchError

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Group(OrderedGroup):
    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the line of each verb, without loading it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT_HELP.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; if a file comes first, say that a verb is missing."""
        word = args[0]
        if word not in self.commands and Path(word).is_file():
            known = ", ".join(self.commands)
            raise click.UsageError(f"expected a verb ({known}) before the file {word!r}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        if any(name.startswith(PREFIX) for name in os.environ):
            check_environment(self.commands.values())
        try:
            value: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The interpreter flushes again at exit, which must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(READER_GONE) from None
        return value


@click.group(
    cls=_Group,
    commands=Verbs(),
    name="lazysketch",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="lazysketch", message="lazysketch %(version)s")
def lazysketch() -> None:
    """Differentially private counts of streams, readable after every event.

    \b
    Examples:
      lazysketch demo
      lazysketch top access.log
      tail -F access.log | lazysketch top - --format combined
      lazysketch estimate events.txt --items items.txt --save-release events.lzs
      lazysketch query events.lzs login logout
    """


def _inputs_of(command: str) -> str:
    """Return what to write for the inputs of a verb."""
    if not sys.stdin.isatty():
        return f"To count what the pipe holds: {command} - "
    return f"Give a file ({command} access.log) or a pipe (tail -F access.log | {command} -). "


def _explained(error: click.UsageError) -> str:
    """Return the help of a missing option, or the variable that a wrong value comes from."""
    option = error.param if isinstance(error, click.BadParameter) else None
    if error.ctx is None or option is None or option.name is None:
        return ""
    if isinstance(error, click.MissingParameter):
        if option.name == "files":
            return _inputs_of(error.ctx.command_path)
        return f"{option.help} " if isinstance(option, click.Option) else ""
    source = error.ctx.get_parameter_source(option.name)
    if source is not click.core.ParameterSource.ENVIRONMENT:
        return ""
    return f"The value comes from the variable {option.envvar}. "


def _verb_of(error: click.UsageError, typed: Sequence[str]) -> str:
    """Return the command whose help describes what was wrong."""
    if error.ctx is not None:
        return error.ctx.command_path
    return " ".join(["lazysketch", *(word for word in typed[:1] if word in lazysketch.commands)])


def _with_option_name(message: str, typed: Sequence[str] = ()) -> str:
    """Replace the argument name in a library error by the name of its option, as it was typed.

    Example:
        >>> _with_option_name("max_weight: expected an integer above 0, got 0")
        '--max-weight: expected an integer above 0, got 0'
        >>> _with_option_name("field: expected 'path', got 'x'", ["top", "a.log", "--by=x"])
        "--by: expected 'path', got 'x'"
        >>> _with_option_name("--field: expected 'path', got 'x'", ["top", "a.log", "--by", "x"])
        "--by: expected 'path', got 'x'"
    """
    argument, colon, rest = message.partition(": ")
    # Two verbs may have an option of one name that is written in different ways.
    verbs = [word for word in typed if word in lazysketch.commands][:1] or lazysketch.commands
    known = [
        (key, option.opts)
        for verb in map(lazysketch.commands.__getitem__, verbs)
        for key, option in options_of(verb).items()
        if option.name == argument or argument in option.opts
    ]
    if not colon or not known:
        return message
    words = {word.partition("=")[0] for word in typed}
    spellings = (name for _, names in known for name in names if name in words)
    first = next((name for name in known[0][1] if name.startswith("--")), f"--{known[0][0]}")
    usual = argument if argument.startswith("-") else first
    return f"{next(spellings, usual)}{colon}{rest}"


def run(arguments: Sequence[str] | None, *, ends_process: bool) -> int:
    """Run the group and return the exit status; expected failures become one line."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        # Escape characters that the terminal's encoding lacks instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    signals = Signals()
    with signals.handled(ends_process=ends_process):
        status = _run(arguments, signals)
    if status != INTERRUPTED:
        return status
    # The interpreter notes a KeyboardInterrupt that leaves an exec, as in importing a dataclass,
    # and at its end sends SIGINT to itself although it was caught. Each exec forgets that note.
    exec("")  # noqa: S102
    return signals.status


def _open_missing_streams() -> None:
    """Replace standard streams that the process was started without.

    A write to the output then fails as it should, and no other file gets their descriptors.
    """
    if sys.stdout is None:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        sys.stdout = open(descriptor, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _run(arguments: Sequence[str] | None, signals: Signals) -> int:
    try:
        status = lazysketch.main(
            arguments, prog_name="lazysketch", standalone_mode=False, obj=signals
        )
    except click.exceptions.NoArgsIsHelpError as no_arguments:
        no_arguments.show()
        return FAILED
    except click.UsageError as error:
        typed = sys.argv[1:] if arguments is None else arguments
        tell(f"{error.format_message()} {_explained(error)}(see {_verb_of(error, typed)} --help)")
        return FAILED
    except click.ClickException as error:
        tell(error.format_message())
        return FAILED
    except HorizonError:
        tell("--horizon: expected an upper bound on the steps of the stream, got a longer stream")
        return FAILED
    except LazySketchError as error:
        tell(_with_option_name(str(error), sys.argv[1:] if arguments is None else arguments))
        return FAILED
    except click.Abort:
        return INTERRUPTED
    except MemoryError:
        tell("memory: expected enough for the command, got too little")
        return FAILED
    except OSError as error:  # most likely standard output on a full disk
        tell(f"standard output: expected to write, got {error.strerror or 'a failure'}")
        return FAILED
    return status if isinstance(status, int) else 0
