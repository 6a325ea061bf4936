"""The words that tell people what to install; no other place of the program makes an install line.

The package index has an older product under this one's name, so until a release the extras come from a checkout.
"""

from __future__ import annotations

from typing import Literal

Extra = Literal["dask", "fast", "hf", "sdk", "socks", "tokenizer"]

# Data and code of the leaderboard, which are their authors' to hand out; without what they would pull in.
BFCL_DATA = "pip install --no-deps bfcl-eval"
BFCL_SIMULATORS = f"{BFCL_DATA} && pip install mpmath"
BFCL_FUNCTIONS = "pip install --no-deps nvidia-bfcl"


def install_line(extra: Extra) -> str:
    """How to get an extra of this product, as the end of a sentence."""
    return f"pip install '.[{extra}]' in a checkout of this repository"
