"""``python -m vendor_verifier`` is the command ``agent-vendor-verifier``."""

from __future__ import annotations

from vendor_verifier.cli.main import main

if __name__ == "__main__":
    main()
