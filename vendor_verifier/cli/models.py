"""The command ``models``: the unified names and what each vendor calls them."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated

from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import OUTPUT, flag
from vendor_verifier.models import MODEL_IDS


def models_command(*, json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False) -> int:
    """List the unified model names with every vendor's ``model_id`` for them."""
    table = {model: ids for model, ids in MODEL_IDS.items() if "simulated" not in ids}
    if json:
        sys.stdout.write(json_module.dumps(table, indent=2) + "\n")
        return EXIT_OK
    for model, ids in table.items():
        sys.stdout.write(f"{model}\n")
        sys.stdout.writelines(f"  {vendor:12} {model_id}\n" for vendor, model_id in ids.items())
    sys.stdout.write("Other names work too: give each vendor's model_id in config.yaml.\n")
    return EXIT_OK
