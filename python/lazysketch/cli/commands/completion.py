"""``lazysketch completion``: shell completion of verbs, options and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from lazysketch.cli.run.files import reason_of
from lazysketch.cli.view.output import tell
from lazysketch.errors import SourceError
from lazysketch.releases.files import write_whole

_SHELLS: Final = ("bash", "zsh", "fish")
_DATA: Final = ("XDG_DATA_HOME", ".local/share")
_SETTINGS: Final = ("XDG_CONFIG_HOME", ".config")
# The variable of the folder, the folder of home if it is not set, and the file of each shell.
_PLACES: Final = {
    "bash": (*_DATA, "bash-completion/completions/lazysketch"),
    "zsh": (*_DATA, "zsh/site-functions/_lazysketch"),
    "fish": (*_SETTINGS, "fish/completions/lazysketch.fish"),
}


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.option(
    "--install",
    is_flag=True,
    help="Write the script where the shell looks for it, and say what is left to do.  "
    "[default: print it]",
)
@click.pass_context
def completion(context: click.Context, *, shell: str | None, install: bool) -> None:
    """Print or install the completion script of a shell; without SHELL that of $SHELL.

    \b
    Examples:
      lazysketch completion --install
      lazysketch completion bash > ~/.local/share/bash-completion/completions/lazysketch
      lazysketch completion zsh > "${fpath[1]}/_lazysketch"
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(shell) if shell in _SHELLS else None
    if found is None:
        raise click.UsageError(f"SHELL: expected one of {', '.join(_SHELLS)}, got {shell!r}")
    group = context.find_root().command
    script = found(group, {}, "lazysketch", "_LAZYSKETCH_COMPLETE").source()
    if not install:
        click.echo(script)
        return
    path = _place_of(shell)
    _write(script, path)
    tell(f"completion of {shell} written to {path}; {_left_to_do(shell, path)}")


def _place_of(shell: str) -> Path:
    variable, folder, name = _PLACES[shell]
    base = os.environ.get(variable, "")
    # As the specification of these variables says, a relative path counts as none.
    return (Path(base) if Path(base).is_absolute() else Path.home() / folder) / name


def _write(script: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{script}\n".encode())
    except (OSError, ValueError) as error:
        raise SourceError(f"--install: expected to write {path}, got {reason_of(error)}") from None


def _left_to_do(shell: str, path: Path) -> str:
    if shell == "zsh":
        return (
            f"write fpath+=({path.parent}) into ~/.zshrc, before its compinit, and open a new shell"
        )
    needs = " (needs the package bash-completion)" if shell == "bash" else ""
    return f"open a new shell{needs}"
