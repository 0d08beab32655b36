"""`pyjs completion <shell>`: the script with which a shell completes pyjs commands, flags and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ..cli.command import Command
from ..cli.errors import PROGRAM, UsageError

SHELLS = {
    "bash": 'eval "$(pyjs completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(pyjs completion zsh)"    # in ~/.zshrc',
    "fish": "pyjs completion fish | source   # in ~/.config/fish/config.fish",
}


@click.command(cls=Command, epilog="\b\nTo use it:\n" + "\n".join(SHELLS.values()))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    click.echo(script(context, shell))


def script(context: click.Context, shell: str) -> str:
    """Return the completion script of a shell. Raises CliError."""
    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"no completion for {shell}")
    root = context.find_root().command
    return found(root, {}, PROGRAM, "_PYJS_COMPLETE").source()
