"""``python -m agent_vendor_verifier`` is the command, too, as it was in 0.1.0: a wheel holds this file by that name."""

from __future__ import annotations

from vendor_verifier.cli.main import main

if __name__ == "__main__":
    main()
