"""`pyjs completion <shell>`: the script with which a shell completes pyjs commands, flags and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ..cli.command import NO_DESCRIPTIONS, Command
from ..cli.errors import PROGRAM, UsageError

VARIABLE = "_PYJS_COMPLETE"  # what a script asks for
SHELLS = {
    "bash": 'eval "$(pyjs completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(pyjs completion zsh)"    # in ~/.zshrc',
    "fish": "pyjs completion fish | source   # in ~/.config/fish/config.fish",
    "powershell": "pyjs completion powershell | Out-String | Invoke-Expression   # in $PROFILE",
}


@click.command(cls=Command, epilog="\b\nTo use it:\n" + "\n".join(SHELLS.values()))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    click.echo(script(context, shell))


def script(context: click.Context, shell: str, *, descriptions: bool = True) -> str:
    """Return the completion script of a shell. Raises CliError.

    descriptions: whether what is offered comes with a line of help, in shells that show it.
    """
    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"no completion for {shell}")
    root = context.find_root().command
    text = found(root, {}, PROGRAM, VARIABLE).source()
    if descriptions:
        return text
    text = text.replace(f"{VARIABLE}=", f"{NO_DESCRIPTIONS}=1 {VARIABLE}=")
    return text.replace(
        f"    $env:{VARIABLE} = '", f"    $env:{NO_DESCRIPTIONS} = '1'\n    $env:{VARIABLE} = '"
    )
