"""A request to an OpenAI-like server."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="request", role="request",
    file_keys=Keys((
        "messages. temperature", "messages. repetition_penalty", "messages. max_tokens", "messages. stream",
        "messages. top_p", "messages. top_k", "prompt temperature", "prompt repetition_penalty", "prompt max_tokens",
        "prompt stream", "prompt top_p", "prompt top_k",
    ), turn=7),
    keys=dict(
        model="model",
        seed="seed",
        stop_tokens="stop stop_token_ids",
        repetition_penalty="repetition_penalty extra_body.repetition_penalty parameters.repetition_penalty",
        sampling_temperature="temperature",
    ),
)  # fmt: skip
