"""DeepSeek, https://api-docs.deepseek.com."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import THINKING_TYPE


class DeepSeek(OpenAICompatible):
    name = "deepseek"
    base_url = "https://api.deepseek.com/v1"
    wire = OpenAIChat(thinking=THINKING_TYPE)
