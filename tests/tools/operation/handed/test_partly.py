"""Parts of the weights that no push carries."""

import pytest

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed


def codes(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return {f.code for f in check_handed(discover(folder)).findings}


def pushes(line, n=4):
    return "".join(line.format(i=i) + "\n" for i in range(1, n + 1))


@pytest.mark.parametrize(
    ("said", "line", "told"),
    [
        ("model: 310 tensors (pp rank 0: 160, pp rank 1: 150)", "[sync] step {i} pushed 160 tensors", True),
        ("共 240 个张量，stage0 120, stage1 60, stage2 60", "第 {i} 次推送：发送 120 个张量", True),
        ("model: 310 tensors (pp rank 0: 160, pp rank 1: 150)", "[sync] step {i} pushed 310 tensors", False),
        ("model: 310 tensors (pp rank 0: 160, pp rank 1: 150)", "[sync] step {i} got 160 prompts", False),
        ("model: 310 tensors (stage0 310)", "[sync] step {i} pushed 160 tensors", False),
    ],
    ids=["one stage", "three stages", "all", "no push", "one part"],
)
def test_pushes_of_one_stage_alone(tmp_path, said, line, told):
    found = codes(tmp_path, driver__log=f"{said}\n{pushes(line)}")
    assert ("push-leaves-out-branch" in found) is told


def test_two_stages_that_push_one_after_the_other_send_all(tmp_path):
    said = "model: 310 tensors (stage0 160, stage1 150)\n"
    both = pushes("[sync] {i} sent 160 tensors", 1) + pushes("[sync] {i} sent 150 tensors", 1)
    assert "push-leaves-out-branch" not in codes(tmp_path, driver__log=said + both * 3)


def sums(left, sep="\t", head=("update", "tensor", "trainer", "engine"), moves=True):
    rows = [sep.join(head)]
    for u in (0, 50, 100):
        for k in range(8):
            train = 3.5 * k + (0.01 * u if moves else 0)
            rows.append(sep.join((str(u), f"blocks.{k}.w", f"{train:.4f}", f"{3.5 * k if k in left else train:.4f}")))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (sums({4, 5, 6, 7}), True),
        (sums({0, 1, 2}, ",", ("step", "param", "actor_sum", "vllm_sum")), True),
        (sums({0, 1, 2}, ",", ("步", "参数名", "训练端", "引擎")), True),
        (sums(set()), False),
        (sums({4, 5, 6, 7}, moves=False), False),
        (sums({0, 1, 2}, ",", ("step", "param", "mean", "std")), False),
    ],
    ids=["half", "vllm", "zh", "all follow", "nothing is trained", "other columns"],
)
def test_tensors_of_the_engine_that_keep_their_first_value(tmp_path, text, told):
    assert ("engine-part-never-changes" in codes(tmp_path, sums__tsv=text)) is told
