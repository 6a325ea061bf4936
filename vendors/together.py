"""Together AI, https://docs.together.ai."""

from vendor_verifier.vendor import OpenAICompatible


class Together(OpenAICompatible):
    name = "together"
    base_url = "https://api.together.xyz/v1"
