"""A model's tokenizer files."""

from ...framework import Framework

FRAMEWORK = Framework(
    name="tokenizer", role="tokenizer",
    file_name=r"(^|/)(tokenizer_config|special_tokens_map)\.json$",
    keys=dict(
        pad_token_id="pad_token pad_token.content", eos_token_id="eos_token eos_token.content",
        chat_template="chat_template",
    ),
)  # fmt: skip
