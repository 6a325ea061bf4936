"""MiniMax, https://platform.minimax.io/docs. Reasoning is separate from the text only when asked for."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat


class MiniMax(OpenAICompatible):
    name = "minimax"
    base_url = "https://api.minimax.io/v1"
    wire = OpenAIChat(extra={"reasoning_split": True})
