"""Moonshot AI, https://platform.moonshot.ai/docs."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat


class Moonshot(OpenAICompatible):
    name = "moonshot"
    base_url = "https://api.moonshot.ai/v1"
    wire = OpenAIChat(tool_choices=("auto", "none"))
