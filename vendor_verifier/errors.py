"""Every exception the product raises on purpose; a vendor's failure is never one of them, but a value in the record.

The package index has an older product under the same name, so until a release the extras come from a checkout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from vendor_verifier.records.manifest import Executor


class VerifierError(Exception):
    """Root of the tree; ``exit_code`` is what the command line returns for it."""

    exit_code = 4


class UsageError(VerifierError):
    """The request itself cannot be carried out."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file: where it is, what was read, what was expected and how to fix it."""

    message: str
    file: Path | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        where = str(self.file) if self.file is not None else ""
        if self.line is not None:
            where += f":{self.line}"
        if self.key is not None:
            where += f": {self.key}" if where else self.key
        return f"{where}: {self.message}" if where else self.message


class ProblemsError(UsageError):
    """Several problems found in one reading, reported together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ConfigError(ProblemsError):
    """config.yaml or .env does not describe a runnable plan."""


class DataError(ProblemsError):
    """A sample or result file cannot be read in its format."""


class RunFolderError(UsageError):
    """A run folder is missing, locked by another process, or belongs to another plan."""


class StorageError(VerifierError):
    """The disk refused a write; rows already written stay readable."""


class ClusterError(VerifierError):
    """The cluster a run was sent over cannot go on; all received records are kept and the run can be resumed.

    ``executor`` is the manifest's entry on this session: workers, versions, regions, losses.
    """

    executor: Executor | None = None


class NobodyToSend(ClusterError):
    """There was never a worker, so nothing was sent."""


Extra = Literal["dask", "export", "fast", "hf", "mcp", "tokenizer"]

# Data and code of the leaderboard, distributed by their authors; without their dependencies.
BFCL_DATA = "pip install --no-deps bfcl-eval"
BFCL_SIMULATORS = f"{BFCL_DATA} && pip install mpmath"


def install_line(extra: Extra) -> str:
    """The install command of an extra of this product, as the end of a sentence."""
    return f"pip install '.[{extra}]' in a checkout of this repository"
