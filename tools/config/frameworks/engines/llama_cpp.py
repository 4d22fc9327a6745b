"""llama.cpp's server and command line."""

from ...framework import Framework, Program

FRAMEWORK = Framework(
    name="llama-cpp", role="engine",
    program=Program(r"\bllama-(server|cli)\b|llama\.cpp|llama_cpp", turn=-1),
    keys=dict(
        model="model",
        seed="seed",
        chat_template="chat_template",
        rope_scaling_type="rope_scaling", rope_scaling_factor="rope_scale", rope_theta="rope_freq_base",
        max_num_seqs="parallel np",
        repetition_penalty="repeat_penalty", sampling_temperature="temp temperature",
    ),
)  # fmt: skip
