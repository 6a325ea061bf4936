"""OpenAI, https://platform.openai.com/docs."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import EFFORT_NONE


class OpenAI(OpenAICompatible):
    name = "openai"
    base_url = "https://api.openai.com/v1"
    wire = OpenAIChat(max_tokens_field="max_completion_tokens", thinking=EFFORT_NONE)
