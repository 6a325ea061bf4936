"""The command ``bundle``: one archive of a run that others can verify and score again. Nothing is sent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.console.options import OUTPUT, option
from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.errors import Problem, ProblemsError


def bundle_command(
    run: Annotated[Path | None, Parameter(help="A run folder.")] = None,
    /,
    *,
    output: Annotated[Path | None, option("The archive. [default: <run>.tar.gz]", OUTPUT, "--output", "-o")] = None,
    verify: Annotated[Path | None, option("Instead: check this archive and score it again.", OUTPUT)] = None,
) -> int:
    """Pack records, samples, manifest and reports of a run with their SHA-256 hashes, or verify such an archive.

    Unpacked, it is a run folder for score, report and explain. Exit codes: 0 done or verified, 2 not what it says.
    """
    from vendor_verifier.store import RunFolder

    if (run is None) == (verify is None):
        raise ProblemsError([Problem("name a run folder, or an archive with --verify", key="bundle")])
    if run is not None:
        from vendor_verifier.features.bundle.create import make_bundle

        sys.stdout.write(f"{make_bundle(RunFolder(run), output)}\n")
        return EXIT_OK
    from vendor_verifier.features.bundle.verify import verify_bundle
    from vendor_verifier.reports.escape import plain

    assert verify is not None
    found = verify_bundle(verify)
    words = f"{found.run}: {found.files} files, {found.size_bytes:,} bytes, every hash right"
    sys.stdout.write(plain(f"{words}; {found.vendors} vendors scored again to the same numbers") + "\n")
    sys.stdout.write("".join(f"note: {plain(note)}\n" for note in found.notes))
    return EXIT_OK
