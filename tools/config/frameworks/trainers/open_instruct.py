"""Open Instruct."""

from ...framework import Framework, Keys, Program

FRAMEWORK = Framework(
    name="open-instruct", parents=("hf",), tolerant=True, checks_deepspeed=True,
    file_keys=Keys((
        "dataset_mixer_list", "preprocessing_num_workers model_name_or_path", "with_tracking model_name_or_path",
    ), turn=3),
    program=Program("open_instruct"),
)  # fmt: skip
