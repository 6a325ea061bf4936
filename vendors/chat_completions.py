"""Vendors that speak chat completions: the makers of models, hosts of others' models, and resellers.

A vendor without ``base_url`` has none in a public source, or one that names your region: config.yaml gives ``url``.
"""

from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.request_support import EFFORT_NONE, ENABLE_THINKING, REASONING_NONE, THINKING_TYPE


class OpenAI(OpenAICompatible):
    """https://platform.openai.com/docs."""

    name = "openai"
    base_url = "https://api.openai.com/v1"
    wire = OpenAIChat(max_tokens_field="max_completion_tokens", thinking=EFFORT_NONE)


class DeepSeek(OpenAICompatible):
    """https://api-docs.deepseek.com."""

    name = "deepseek"
    base_url = "https://api.deepseek.com/v1"
    wire = OpenAIChat(thinking=THINKING_TYPE)


class Moonshot(OpenAICompatible):
    """https://platform.moonshot.ai/docs."""

    name = "moonshot"
    base_url = "https://api.moonshot.ai/v1"
    wire = OpenAIChat(tool_choices=("auto", "none"))


class MiniMax(OpenAICompatible):
    """https://platform.minimax.io/docs. Reasoning is separate from the text only when asked for."""

    name = "minimax"
    base_url = "https://api.minimax.io/v1"
    wire = OpenAIChat(extra={"reasoning_split": True})


class Zai(OpenAICompatible):
    """https://docs.z.ai. Arguments are streamed only when asked for."""

    name = "zai"
    base_url = "https://api.z.ai/api/paas/v4"
    wire = OpenAIChat(tool_choices=("auto",), extra={"tool_stream": True}, thinking=THINKING_TYPE)


class BigModel(Zai):
    """Zhipu AI, https://docs.bigmodel.cn: the same as Z.ai."""

    name = "bigmodel"
    base_url = "https://open.bigmodel.cn/api/paas/v4"


class OpenRouter(OpenAICompatible):
    """https://openrouter.ai/docs. A router: pin a ``provider``, or the router and whom it picks is measured."""

    name = "openrouter"
    base_url = "https://openrouter.ai/api/v1"
    wire = OpenAIChat(extra={"usage": {"include": True}}, thinking=REASONING_NONE)


class SiliconFlow(OpenAICompatible):
    """https://docs.siliconflow.cn."""

    name = "siliconflow"
    base_url = "https://api.siliconflow.cn/v1"
    wire = OpenAIChat(thinking=ENABLE_THINKING)


class Fireworks(OpenAICompatible):
    """https://docs.fireworks.ai."""

    name = "fireworks"
    base_url = "https://api.fireworks.ai/inference/v1"


class Groq(OpenAICompatible):
    """https://console.groq.com/docs."""

    name = "groq"
    base_url = "https://api.groq.com/openai/v1"


class Novita(OpenAICompatible):
    """https://novita.ai/docs."""

    name = "novita"
    base_url = "https://api.novita.ai/openai/v1"


class Together(OpenAICompatible):
    """https://docs.together.ai."""

    name = "together"
    base_url = "https://api.together.xyz/v1"


class Local(OpenAICompatible):
    """vLLM, SGLang or llama.cpp on this machine; config.yaml gives another ``url`` where the port differs."""

    name = "local"
    base_url = "http://127.0.0.1:8000/v1"


class Bedrock(OpenAICompatible):
    """https://docs.aws.amazon.com/bedrock, at ``https://bedrock-mantle.<region>.api.aws/v1`` with an API key of it."""

    name = "bedrock"


class Vertex(OpenAICompatible):
    """https://cloud.google.com/vertex-ai. The key is what ``gcloud auth print-access-token`` prints, for an hour."""

    name = "vertex"


class FoxCode(OpenAICompatible):
    name = "foxcode"


class Icu429(OpenAICompatible):
    name = "429.icu"


class PackyApi(OpenAICompatible):
    name = "packyapi"


class Yunwu(OpenAICompatible):
    name = "yunwu"
