"""A model's `generation_config.json`."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="generation", role="generation",
    file_name=r"(^|/)generation_config\.json$",
    file_keys=Keys(("transformers_version eos_token_id", "do_sample transformers_version"), turn=7),
    keys=dict(
        pad_token_id="pad_token_id", eos_token_id="eos_token_id eos_token_id.0",
        stop_tokens="stop_strings stop_token_ids", repetition_penalty="repetition_penalty",
        sampling_temperature="temperature", sampling="do_sample",
    ),
)  # fmt: skip
