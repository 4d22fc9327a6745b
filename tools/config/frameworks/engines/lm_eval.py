"""lm-evaluation-harness and lighteval: a model is loaded and asked, nothing is trained."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="lm_eval", role="engine",
    program=Program(r"\blm[_-]eval\b|\blighteval\b", turn=-1),
    keys=dict(
        model="model_args.pretrained model_args.model_name model_args.model model_args.model_name_or_path",
        model_dtype="model_args.dtype model_args.torch_dtype",
        engine_tensor_parallel="model_args.tensor_parallel_size model_args.tp_size",
        engine_data_parallel="model_args.data_parallel_size model_args.dp_size",
        gpu_memory_utilization="model_args.gpu_memory_utilization model_args.mem_fraction_static",
        max_model_len="model_args.max_model_len model_args.max_length model_args.max_model_length "
            "model_args.context_length",
        max_num_seqs="model_args.max_num_seqs",
        seed="seed model_args.seed",
        sampling_temperature="gen_kwargs.temperature", sampling="gen_kwargs.do_sample",
        repetition_penalty="gen_kwargs.repetition_penalty",
        max_response_length="gen_kwargs.max_gen_toks gen_kwargs.max_new_tokens gen_kwargs.max_tokens",
    ),
)  # fmt: skip
