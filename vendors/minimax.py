"""MiniMax, https://platform.minimax.io/docs."""

from vendor_verifier.vendor import OpenAICompatible


class MiniMax(OpenAICompatible):
    name = "minimax"
    base_url = "https://api.minimax.io/v1"
