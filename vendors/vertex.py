"""Google Vertex AI's OpenAI-shaped endpoint, https://cloud.google.com/vertex-ai.

The address names project and region, so config.yaml gives ``url``; tokens live an hour, so it also gives
``api_key_command`` (``gcloud auth print-access-token``).
"""

from vendor_verifier.vendor import OpenAICompatible


class Vertex(OpenAICompatible):
    name = "vertex"
