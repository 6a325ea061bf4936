"""Groq, https://console.groq.com/docs."""

from vendor_verifier.vendor import OpenAICompatible


class Groq(OpenAICompatible):
    name = "groq"
    base_url = "https://api.groq.com/openai/v1"
