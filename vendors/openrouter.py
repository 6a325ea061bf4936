"""OpenRouter, https://openrouter.ai/docs."""

from vendor_verifier.vendor import OpenAICompatible


class OpenRouter(OpenAICompatible):
    name = "openrouter"
    base_url = "https://openrouter.ai/api/v1"
