"""Makes the install line of an extra, for all messages that name one.

The package index has an older product under the same name, so until a release the extras come from a checkout.
"""

from __future__ import annotations

from typing import Literal

Extra = Literal["dask", "fast", "hf", "sdk", "socks", "tokenizer"]

# Data and code of the leaderboard, distributed by their authors; without their dependencies.
BFCL_DATA = "pip install --no-deps bfcl-eval"
BFCL_SIMULATORS = f"{BFCL_DATA} && pip install mpmath"
BFCL_FUNCTIONS = "pip install --no-deps nvidia-bfcl"


def install_line(extra: Extra) -> str:
    """The install command of an extra of this product, as the end of a sentence."""
    return f"pip install '.[{extra}]' in a checkout of this repository"
