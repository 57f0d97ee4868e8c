"""``lazysketch completion``: shell completion of verbs, options and files."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      lazysketch completion bash > ~/.local/share/bash-completion/completions/lazysketch
      lazysketch completion zsh > "${fpath[1]}/_lazysketch"
      lazysketch completion fish > ~/.config/fish/completions/lazysketch.fish
    """
    group = context.find_root().command
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"expected one of {', '.join(_SHELLS)}, got {shell}")
    click.echo(found(group, {}, "lazysketch", "_LAZYSKETCH_COMPLETE").source())
