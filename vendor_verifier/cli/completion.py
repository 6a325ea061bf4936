"""The command ``completion``."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from vendor_verifier.cli.main import build_app
from vendor_verifier.console.output import EXIT_OK


def completion_command(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Your shell.")],
    /,
) -> int:
    """Print the completion script of a shell, to put where that shell looks for one.

    bash: ~/.local/share/bash-completion/completions/agent-vendor-verifier; zsh: a file _agent-vendor-verifier in a
    folder of $fpath; fish: ~/.config/fish/completions/agent-vendor-verifier.fish.
    """
    sys.stdout.write(build_app().generate_completion(shell=shell).rstrip() + "\n")
    return EXIT_OK
