"""Amazon Bedrock's OpenAI-shaped endpoint, https://docs.aws.amazon.com/bedrock.

The address names your region: ``https://bedrock-mantle.<region>.api.aws/v1``; the key is a Bedrock API key (bearer).
"""

from vendor_verifier.vendor import OpenAICompatible


class Bedrock(OpenAICompatible):
    name = "bedrock"
