"""SiliconFlow, https://docs.siliconflow.cn."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import ENABLE_THINKING


class SiliconFlow(OpenAICompatible):
    name = "siliconflow"
    base_url = "https://api.siliconflow.cn/v1"
    wire = OpenAIChat(thinking=ENABLE_THINKING)
