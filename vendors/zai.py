"""Z.ai, https://docs.z.ai. Arguments are streamed only when asked for."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import THINKING_TYPE


class Zai(OpenAICompatible):
    name = "zai"
    base_url = "https://api.z.ai/api/paas/v4"
    wire = OpenAIChat(tool_choices=("auto",), extra={"tool_stream": True}, thinking=THINKING_TYPE)
