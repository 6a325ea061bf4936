"""OpenRouter, https://openrouter.ai/docs. A router: pin a ``provider``, or the router and whom it picks is measured."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import REASONING_NONE


class OpenRouter(OpenAICompatible):
    name = "openrouter"
    base_url = "https://openrouter.ai/api/v1"
    wire = OpenAIChat(extra={"usage": {"include": True}}, thinking=REASONING_NONE)
