"""Moonshot, https://platform.moonshot.ai/docs."""

from vendor_verifier.vendor import OpenAICompatible


class Moonshot(OpenAICompatible):
    name = "moonshot"
    base_url = "https://api.moonshot.ai/v1"
