"""DeepSeek, https://api-docs.deepseek.com."""

from vendor_verifier.vendor import OpenAICompatible


class DeepSeek(OpenAICompatible):
    name = "deepseek"
    base_url = "https://api.deepseek.com/v1"
