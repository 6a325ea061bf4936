"""OpenAI, https://platform.openai.com/docs."""

from vendor_verifier.vendor import OpenAICompatible


class OpenAI(OpenAICompatible):
    name = "openai"
    base_url = "https://api.openai.com/v1"
