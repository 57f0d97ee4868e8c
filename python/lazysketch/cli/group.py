"""The group of verbs, and what becomes of their failures: one line and an exit status."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from lazysketch.cli.demo import demo
from lazysketch.cli.display import tell
from lazysketch.cli.estimate import estimate
from lazysketch.cli.stream import INTERRUPTED
from lazysketch.cli.top import top
from lazysketch.errors import LazySketchError

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED = 2
READER_GONE = 141  # 128 + SIGPIPE


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The interpreter flushes once more at its end, which must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(READER_GONE) from None
        return value


@click.group(
    cls=_Group,
    name="lazysketch",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="lazysketch", message="lazysketch %(version)s")
def lazysketch() -> None:
    """Differentially private counts of streams that may be read after every event.

    \b
    Examples:
      lazysketch demo
      lazysketch top access.log --field host --domain hosts.txt -k 20
    """


for _verb in (top, estimate, demo):
    lazysketch.add_command(_verb)


def run(arguments: Sequence[str] | None) -> int:
    """Run the group; every expected failure becomes one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        # An item that the terminal's encoding lacks is shown escaped, not a reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = lazysketch.main(arguments, prog_name="lazysketch", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as no_arguments:
        no_arguments.show()
        return FAILED
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "lazysketch"
        tell(f"{error.format_message()} (see {where} --help)")
        return FAILED
    except click.ClickException as error:
        tell(error.format_message())
        return FAILED
    except LazySketchError as error:
        tell(str(error))
        return FAILED
    except click.Abort:
        return INTERRUPTED
    except OSError as error:  # a full disk under standard output, most likely
        tell(f"standard output: expected to write, got {error.strerror or 'a failure'}")
        return FAILED
    return status if isinstance(status, int) else 0
