"""Arguments dumped one pair a line, INI files, and the keys of programs that nobody knows."""

import pytest

from triage.tools.config.edit import set_value
from triage.tools.config.read import read_file


def values(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    reading = read_file(path)
    return {v: s.value for v, s in reading.values.items()}, reading


def test_a_dump_of_arguments_is_read_with_the_place_of_each_value(tmp_path):
    found, reading = values(tmp_path, "args_dump.txt", "learning_rate = 3e-4\nmax_steps = 12000\nbf16 = True\n")
    assert found == {"learning_rate": 3e-4, "max_steps": 12000, "bf16": True}
    assert (reading.values["max_steps"].line, reading.values["max_steps"].raw) == (2, "12000")


def test_headings_of_an_ini_file_are_part_of_the_key(tmp_path):
    found, _ = values(tmp_path, "run.ini", "; mine\n[optim]\nlr = 2e-5  # peak\nclip = 1.0\n[critic]\nlr = 1e-3\n")
    assert found == {"learning_rate": 2e-5, "grad_clip": 1.0}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("optim: {lr: 8.0e-6, clip: 1.0}\ndata: {batch_size: 4}\naccumulate: 4\n",
         {"learning_rate": 8e-6, "grad_clip": 1.0, "micro_batch_size": 4, "grad_accumulation": 4}),
        ("dist: {backend: nccl, timeout_s: 1800}\ntrain: {lr: 1.0e-4}\n",
         {"nccl_timeout": 1800.0, "learning_rate": 1e-4}),
        ("critic: {lr: 1.0e-4}\neval: {batch_size: 64}\nepochs: 2\n", {"epochs": 2.0}),
        ("clip: 0.2\nlr: 1.0e-6\n", {"learning_rate": 1e-6}),
    ],
)  # fmt: skip
def test_headings_that_only_sort_say_nothing_and_those_of_another_model_do(tmp_path, text, found):
    assert values(tmp_path, "conf.yaml", text)[0] == found


def test_a_text_of_other_lines_is_no_dump(tmp_path):
    assert values(tmp_path, "notes.txt", "we saw x = 3 once\nand then nothing\nlr was fine\n")[0] == {}


def test_a_unit_of_systemd_is_a_command_whose_values_can_be_changed_in_place(tmp_path):
    text = "[Service]\nEnvironment=OMP_NUM_THREADS=8\nExecStart=/bin/vllm serve /m/chat \\\n  --max-num-seqs 16\n"
    found, reading = values(tmp_path, "vllm.service", text)
    assert (found["max_num_seqs"], found["model"]) == (16, "/m/chat")
    assert "--max-num-seqs 256" in set_value(reading.values["max_num_seqs"], 256, tmp_path / "vllm.service").text
