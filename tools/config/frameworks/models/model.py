"""A model's `config.json`."""

from ...framework import Framework, Keys

FRAMEWORK = Framework(
    name="model", role="model",
    file_keys=Keys(("architectures.0", "model_type hidden_size", "model_type vocab_size"), turn=6),
    keys=dict(
        model="_name_or_path",
        norm_epsilon="rms_norm_eps layer_norm_epsilon layer_norm_eps norm_eps text_config.rms_norm_eps",
        init_std="initializer_range",
        model_dtype="torch_dtype dtype",
        pad_token_id="pad_token_id text_config.pad_token_id",
        eos_token_id="eos_token_id text_config.eos_token_id eos_token_id.0",
        rope_scaling_type="rope_scaling.rope_type rope_scaling.type rope_parameters.rope_type",
        rope_scaling_factor="rope_scaling.factor rope_parameters.factor",
        rope_theta="rope_theta rope_parameters.rope_theta",
        rope_original_positions="rope_scaling.original_max_position_embeddings "
            "rope_parameters.original_max_position_embeddings",
        max_position_embeddings="max_position_embeddings n_positions text_config.max_position_embeddings",
        hidden_size="hidden_size n_embd text_config.hidden_size",
        num_layers="num_hidden_layers n_layer text_config.num_hidden_layers",
        vocab_size="vocab_size text_config.vocab_size",
        intermediate_size="intermediate_size n_inner text_config.intermediate_size",
        num_heads="num_attention_heads n_head text_config.num_attention_heads",
        num_kv_heads="num_key_value_heads text_config.num_key_value_heads", head_dim="head_dim text_config.head_dim",
        tie_embeddings="tie_word_embeddings", num_experts="num_experts num_local_experts n_routed_experts",
    ),
)  # fmt: skip
