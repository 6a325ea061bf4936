"""BigModel (Zhipu AI), https://docs.bigmodel.cn. Arguments are streamed only when asked for."""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import THINKING_TYPE


class BigModel(OpenAICompatible):
    name = "bigmodel"
    base_url = "https://open.bigmodel.cn/api/paas/v4"
    wire = OpenAIChat(tool_choices=("auto",), extra={"tool_stream": True}, thinking=THINKING_TYPE)
