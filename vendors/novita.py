"""Novita AI, https://novita.ai/docs."""

from vendor_verifier.vendor import OpenAICompatible


class Novita(OpenAICompatible):
    name = "novita"
    base_url = "https://api.novita.ai/openai/v1"
