"""A run is called healthy where the symptom was looked for in series long enough, and nothing that tells is unread."""

import json
import re

import pytest
from making import fill

from triage.agent.session import ask

HEALTHY = "".join(
    f"step {i} loss {1 + 2 / (1 + i / 10) + 0.01 * (i * 7 % 5):.4f} grad_norm 1.0 lr 1e-4\n" for i in range(150)
)


def asked(folder, question, **more):
    fill(folder, {"train.log": HEALTHY, **more})
    return ask(question, [folder])


@pytest.mark.parametrize(
    "question",
    ["is anything wrong with this run?", "my loss is stuck, it does not go down", "loss went to nan!", "loss 突然飙升"],
)
def test_a_long_run_in_which_the_symptom_is_measured_and_absent_is_healthy(tmp_path, question):
    found = asked(tmp_path, question)
    assert (found.diagnosis.state, found.diagnosis.missing) == ("healthy", ())


@pytest.mark.parametrize(
    "question", ["почему модель повторяет одно и то же?", "o treino terminou, por que o modelo repete tudo?"]
)
def test_a_question_that_was_not_understood_is_answered_with_no_all_clear(tmp_path, question):
    found = asked(tmp_path, question)
    assert found.diagnosis.state == "inconclusive"
    assert "your question was not understood" in found.text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("the reward stays flat at zero", "a reward that does not rise was not measured"),
        ("training got really slow, throughput dropped", "a run that is slow was not measured"),
        ("my KL is exploding", "a KL that runs away was not measured"),
        ("KL 爆炸了，怎么回事", "没有测到"),
    ],
)
def test_a_symptom_that_nobody_measured_is_not_denied(tmp_path, question, said):
    found = asked(tmp_path, question)
    assert found.diagnosis.state == "inconclusive"
    assert said in found.short.replace("\n", " ").replace("   ", "")
    assert "Nothing wrong in what was read" in found.short or "读到的内容没有发现问题" in found.short


def test_a_loss_that_does_stand_still_as_the_person_says_is_not_called_healthy(tmp_path):
    rows = "".join(
        f"step {10 * i} loss {max(2.4, 3.4 - 0.02 * i) + 0.01 * (i * 7 % 5):.4f} grad_norm 0.3 lr 1e-4\n"
        for i in range(160)
    )
    found = asked(tmp_path, "the loss has been flat since step 600 or so", **{"train.log": rows})
    assert found.diagnosis.state == "inconclusive"
    assert "loss does stand still as you say" in " ".join(found.short.split())
    assert asked(tmp_path, "is anything wrong?", **{"train.log": rows}).diagnosis.state == "healthy"


@pytest.mark.parametrize(
    "question", ["grad norm is 1.0 while the paper reports 0.3", "loss 只到 1.2，论文里应该是 0.9"]
)
def test_a_number_that_was_hoped_for_is_no_part_of_a_sound_curve(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "inconclusive"


def test_a_series_too_short_for_the_check_is_not_called_clear(tmp_path):
    fill(tmp_path, {"train.log": "".join(HEALTHY.splitlines(True)[:40])})
    found = ask("the loss is stuck", [tmp_path])
    assert found.diagnosis.state == "inconclusive"
    assert "cannot be judged yet" in " ".join(found.short.split())


def test_an_unread_file_that_could_show_it_is_named_with_its_reason_worst_first(tmp_path):
    more = {"CHANGES.md": b"\0\0\1binary", "events.out.tfevents.1.h.2.0": b"\x18broken\0\0\0\0\0\0"}
    found = asked(tmp_path, "is anything wrong?", **more)
    assert found.diagnosis.state == "inconclusive"
    assert found.diagnosis.missing[0].file.startswith("events.out")
    assert "events.out.tfevents" in found.short


def records(count):
    rows = [{"step": 10 * i, "epoch": i / 100, "loss": 3.2 - 0.008 * i, "grad_norm": 1.1} for i in range(1, count + 1)]
    return json.dumps({"global_step": 10 * count, "max_steps": 10 * count, "log_history": rows}, indent=1)


@pytest.mark.parametrize("part", [0.01, 0.1, 0.6])
@pytest.mark.parametrize(
    ("question", "said"), [("is my run ok?", "the file ends in the middle"), ("训练正常吗？", "文件在 JSON 中间结束")]
)
def test_a_file_that_was_cut_off_is_told_in_the_first_line_whatever_was_noted_in_the_rest(
    tmp_path, question, said, part
):
    whole = records(300)
    fill(tmp_path, {"trainer_state.json": whole[: int(len(whole) * part)], "train.yaml": "max_grad_norm: 0.0\n"})
    found = ask(question, [tmp_path])
    assert found.diagnosis.state == "inconclusive"
    head = "".join(found.short.split("F1")[0].split())
    assert "trainer_state.json" in head
    assert "".join(said.split()) in head


def test_a_file_that_is_whole_is_not_told_as_cut(tmp_path):
    fill(tmp_path, {"trainer_state.json": records(300), "train.yaml": "max_grad_norm: 1.0\n"})
    found = ask("is my run ok?", [tmp_path])
    assert (found.diagnosis.state, found.diagnosis.missing) == ("healthy", ())


@pytest.mark.parametrize("name", ["LICENSE", "plot.png", "README.md", ".git/config", "requirements.txt"])
def test_papers_and_pictures_keep_no_run_from_being_healthy(tmp_path, name):
    assert asked(tmp_path, "is anything wrong?", **{name: b"text"}).diagnosis.state == "healthy"


@pytest.mark.parametrize(("planned", "state"), [(150, "healthy"), (4000, "inconclusive"), (None, "inconclusive")])
@pytest.mark.parametrize(
    "question", ["it hangs", "训练突然卡住了", "it crashed overnight", "did it run out of memory?"]
)
def test_what_ends_a_run_is_excluded_only_where_the_run_came_to_its_end(tmp_path, question, planned, state):
    found = asked(tmp_path, question, **{"train.yaml": f"max_steps: {planned}\n" if planned else "seed: 1\n"})
    assert found.diagnosis.state == state
    absent = "the checks that look for it found nothing" in " ".join(found.short.split()) or "都没有发现" in found.short
    assert absent == (state == "healthy")


def test_a_run_that_had_not_come_to_its_end_is_not_called_healthy(tmp_path):
    cut = HEALTHY.replace("step ", "Epoch [1/50], step ")
    found = asked(tmp_path / "cut", "is anything wrong?", **{"train.log": cut})
    assert found.diagnosis.state == "inconclusive"
    assert "not come to its planned end" in " ".join(found.short.split())
    done = asked(tmp_path / "done", "is anything wrong?", **{"train.log": cut + "Training finished\n"})
    assert (done.diagnosis.state, done.diagnosis.missing) == ("healthy", ())


RESTLESS = "".join(
    f"step {10 * i} loss {1.8 + 2.5 / (1 + i / 40) + 0.07 * ((i * 37 % 11) - 5) / 5 + late:.4f} grad_norm 0.4 lr 1e-4\n"
    for i, late in ((i, {620: 0.9, 621: 0.5, 622: 0.1}.get(i, 0.0)) for i in range(1000))
)


@pytest.mark.parametrize(
    "question",
    [
        "the loss wobbles a lot, and something jumped near step 6200. are we in trouble?",
        "loss 抖得厉害，6200 步那里突然跳了一下，会不会炸？",
    ],
)
def test_a_restless_loss_is_judged_so_far_where_only_its_course_is_asked(tmp_path, question):
    more = {"train.log": RESTLESS, "train.yaml": "max_steps: 20000\n"}
    assert asked(tmp_path / "a", question, **more).diagnosis.state == "healthy"
    assert asked(tmp_path / "b", "did it crash overnight?", **more).diagnosis.state == "inconclusive"
    lines = enumerate(RESTLESS.splitlines(keepends=True))
    stays = [line.replace("loss 1.", "loss 4.") if i > 900 else line for i, line in lines]
    assert asked(tmp_path / "c", question, **{**more, "train.log": "".join(stays)}).diagnosis.state != "healthy"


SPIKED = "".join(
    f"step {10 * i} loss {1.6 + 6 / (1 + i / 25) + 0.004 * ((i * 37 % 11) - 5) + late:.4f} "
    f"grad_norm {0.3 + 3 * late:.3f} lr 1e-4\n"
    for i, late in ((i, {400: 1.9, 401: 0.7, 760: 1.2}.get(i, 0.0)) for i in range(1200))
)


@pytest.mark.parametrize(
    "question",
    ["loss blew up twice, it is diverging isn't it? stop it?", "loss 蹦了两次尖峰，是不是快炸了？要不要停训"],
)
def test_jumps_that_were_back_at_once_leave_a_curve_that_was_judged_sound(tmp_path, question):
    assert asked(tmp_path / "a", question, **{"train.log": SPIKED}).diagnosis.state == "healthy"
    stays = [x.replace("loss 1.", "loss 3.") if i > 760 else x for i, x in enumerate(SPIKED.splitlines(keepends=True))]
    assert asked(tmp_path / "b", question, **{"train.log": "".join(stays)}).diagnosis.state != "healthy"


@pytest.mark.parametrize(
    "question",
    ["the gradient norm jumps to 6 out of nowhere, should I tighten the clip?", "|g| shot up twice, is that ok?",
     "loss drops and then falls off a cliff, three spikes so far", "梯度范数蹦出两个尖峰，要不要把裁剪调小？"],
)  # fmt: skip
def test_norms_that_jumped_and_were_back_leave_a_curve_that_was_judged_sound(tmp_path, question):
    assert asked(tmp_path / "a", question, **{"train.log": SPIKED}).diagnosis.state == "healthy"
    rows = enumerate(SPIKED.splitlines(keepends=True))
    wild = [re.sub(r"norm [\d.]+", "norm 9.5", x) if i > 300 and i % 9 == 0 else x for i, x in rows]
    assert asked(tmp_path / "b", question, **{"train.log": "".join(wild)}).diagnosis.state != "healthy"


def _scaled(skips):
    """Half precision: the scale is halved at each skipped step, and doubled after 80 without one."""
    scale, rows = 2.0**24, []
    for i in range(200):
        scale = scale / 2 if skips(i) else scale * 2 if i % 80 == 79 else scale
        loss = 2.2 + 6 / (1 + i / 20) + 0.004 * (i * 7 % 5)
        skipped = int(skips(i))
        rows.append(f"step {i} loss {loss:.4f} grad_norm 0.8 loss_scale {scale:.1f} skipped_steps {skipped} lr 1e-4\n")
    return "".join(rows)


@pytest.mark.parametrize(
    "question",
    ["the log shows overflow in the first steps and a few more since, is that bad?", "开头几步都溢出了，正常吗？"],
)
def test_steps_that_overflow_at_the_start_are_sound_and_many_of_them_are_not(tmp_path, question):
    for name, skips, healthy in (
        ("start", lambda i: i < 6 or i in (100, 170), True),
        ("always", lambda i: i < 6 or i % 7 == 0, False),
        ("down", lambda i: i < 6 or i > 170, False),
    ):
        found = asked(tmp_path / name, question, **{"train.log": _scaled(skips)})
        assert (found.diagnosis.state == "healthy") == healthy, name
    assert asked(tmp_path / "unmeasured", question).diagnosis.state == "inconclusive"


def _policy(reward, entropy):
    return "".join(
        f"step {i} loss 0.01 reward {0.3 + reward * i + 0.01 * (i * 7 % 5):.4f} kl {0.0002 * i:.4f} "
        f"entropy {1.2 - entropy * i:.4f} grad_norm 1.0 lr 1e-6\n"
        for i in range(150)
    )


@pytest.mark.parametrize("question", ["KL climbs and entropy keeps falling", "KL 一路涨，entropy 也在掉"])
def test_a_policy_that_moves_while_its_reward_rises_is_not_wrong_for_that(tmp_path, question):
    for name, rows, states in (
        ("learns", _policy(0.005, 0.002), {"healthy"}),
        ("collapses", _policy(0.005, 0.0079), {"diagnosed", "inconclusive"}),
        ("stands", _policy(0.0, 0.002), {"diagnosed", "inconclusive"}),
    ):
        fill(tmp_path / name, {"train.log": rows})
        assert ask(question, [tmp_path / name]).diagnosis.state in states, name


@pytest.mark.parametrize(
    "question", ["has the agent really learned to play, the reward is noisy", "奖励在涨，智能体学会了吗？"]
)
@pytest.mark.parametrize(
    ("beside", "healthy"),
    [(["rollout/ep_len_mean"], True), (["Episodic length/info"], True), (["response_length/mean"], False),
     (["episode", "response_length/mean"], False)],
)  # fmt: skip
def test_the_reward_of_an_environment_needs_no_other_judge(tmp_path, question, beside, healthy):
    rows = [
        {"step": i, "reward/mean": 2 + 0.05 * i + 0.2 * (i * 7 % 5), "entropy": 1.1, **{k: 200 + i % 7 for k in beside}}
        for i in range(150)
    ]
    fill(tmp_path, {"history.jsonl": "\n".join(map(json.dumps, rows)) + "\n"})
    assert (ask(question, [tmp_path]).diagnosis.state == "healthy") == healthy


@pytest.mark.parametrize(
    ("question", "healthy"),
    [("it is still running, all fine so far?", True), ("now at step 149 of 20000, do we let it go on?", True),
     ("还在跑，目前正常吗？", True), ("训练跑到 149 步，一切正常吗？", True), ("is this training ok?", False),
     ("this one is done, is it ok?", False), ("it was still running last night and is gone now, why?", False)],
)  # fmt: skip
def test_a_run_that_goes_on_as_the_person_says_is_judged_so_far(tmp_path, question, healthy):
    found = asked(tmp_path, question, **{"train.yaml": "max_steps: 20000\n"})
    assert (found.diagnosis.state == "healthy") == healthy


@pytest.mark.parametrize(
    ("name", "healthy"), [("debug-core.log", True), ("debug-internal.log", True), ("train_rank1.log", False)]
)
def test_a_link_to_a_trackers_own_log_that_leads_nowhere_hides_nothing(tmp_path, name, healthy):
    fill(tmp_path, {"train.log": HEALTHY})
    (tmp_path / name).symlink_to("/nowhere/cache/" + name)
    assert (ask("is this training ok?", [tmp_path]).diagnosis.state == "healthy") == healthy


@pytest.mark.parametrize(
    "question",
    ["it is at 9000/12000 now, all fine?", "12000 of 18000 done", "是不是训坏了？", "I'm getting nervous, stop it?",
     "loss 抖得厉害，昨晚还窜到 3.5，我很慌"],
)  # fmt: skip
def test_how_far_a_run_has_come_and_how_one_feels_is_no_complaint(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "healthy"


def test_a_sign_that_is_more_than_a_note_keeps_a_run_from_being_healthy(tmp_path):
    found = asked(tmp_path, "ok?", **{"train.log": HEALTHY.replace("grad_norm 1.0", "grad_norm 0.0000")})
    assert found.diagnosis.state != "healthy"
    assert any("0" in m.en for m in found.diagnosis.missing)


@pytest.mark.parametrize(
    "question",
    [
        "since the update the answers always have the same tone",
        "our bot just parrots the users back at them. loss looks good",
        "HR@10 is 0 although the loss falls",
        "the win rate of 99% is implausible",
        "tool calls break since Thursday, the JSON is empty",
        "MMLU was 67.9 in spring, 64 now",
        "the new one scores 61.2 on our set, the old one had reached 66.0",
        "the training reward climbs, the private exam hasn't moved",
        "the radiology notes it writes sound the same and it makes up findings",
        "speech is muffled since v3, everything else is fine",
        "模型回答千篇一律，训练 loss 正常",
        "摘要里编造了好多条款",
        "导出以后回答总是乱码",
        "the loss suddenly got 0.4 better and nobody changed anything",
        "答完以后它接着替用户说下一句。是不是停止符没配好？",
    ],
)
def test_a_complaint_that_no_table_knows_and_nobody_measured_is_not_denied(tmp_path, question):
    found = asked(tmp_path, question)
    assert (found.diagnosis.state, found.diagnosis.hypotheses) == ("inconclusive", ())
    assert "bring" in found.diagnosis.missing[0].en


@pytest.mark.parametrize(
    "question",
    [
        "is this run healthy?",
        "how did it go, did anything break?",
        "is something wrong with it? I can't tell",
        "the loss bounces a lot, it is worse than last week's?",
        "is the loss too high?",
        "loss went from 3.0 to 1.2, is that fine?",
        "grad_norm 老是 1.0，不正常吗",
        "这次训练有没有问题，能不能用",
        "I want to raise the lr from 1e-4 to 2e-4, ok?",
        "we turned on bf16 last week, is it healthy?",
        "开了重计算，这次训练正常吗？",
    ],
)
def test_worry_about_what_is_measured_and_fine_leaves_a_run_healthy(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "healthy"


def test_a_named_measure_that_goes_the_way_that_is_complained_of_is_there(tmp_path):
    rows = "".join(f"{100 * i},{20 - 0.3 * i:.2f},{12 + 0.2 * i:.2f}\n" for i in range(24))
    found = asked(tmp_path / "a", "de perplexity is creeping up", **{"ppl.csv": "step,ppl_en,ppl_de\n" + rows})
    assert found.diagnosis.state == "inconclusive"
    assert any("ppl_de" in m.en for m in found.diagnosis.missing)
    other = asked(tmp_path / "b", "en perplexity is creeping up", **{"ppl.csv": "step,ppl_en,ppl_de\n" + rows})
    assert not any("ppl_en" in m.en for m in other.diagnosis.missing)


REWARDED = "".join(
    f"step {i} loss 0.01 reward {0.3 + 0.005 * i + 0.01 * (i * 7 % 5):.4f} kl 0.01 grad_norm 1.0 lr 1e-6\n"
    for i in range(150)
)


@pytest.mark.parametrize(
    ("question", "more", "state"),
    [
        ("the reward rises nicely, is the policy good?", {}, "inconclusive"),
        ("reward 一直在涨，质量变好了吗", {}, "inconclusive"),
        ("did the run finish?", {}, "healthy"),
        ("is the policy good?", {"eval.csv": "step,eval_accuracy\n" + "".join(f"{i},0.{40 + i}\n" for i in range(30))},
         "healthy"),
    ],
)  # fmt: skip
def test_a_reward_that_only_its_own_model_judges_says_nothing_of_quality(tmp_path, question, more, state):
    fill(tmp_path, {"train.log": REWARDED, **more})
    assert ask(question, [tmp_path]).diagnosis.state == state


@pytest.mark.parametrize(
    ("more", "state"),
    [({}, "inconclusive"),
     ({"eval.csv": "step,eval_accuracy\n" + "".join(f"{i},0.{40 + i}\n" for i in range(30))}, "healthy")],
)  # fmt: skip
def test_a_loss_that_no_text_begins_with_clears_no_run_alone(tmp_path, more, state):
    rows = "".join(f"step {i} loss {0.004 + 0.008 / (1 + i / 40) + 0.0002 * (i * 7 % 5):.5f}\n" for i in range(1, 151))
    found = asked(tmp_path, "is anything wrong with this run?", **{"train.log": rows, **more})
    assert found.diagnosis.state == state
    assert any("next to nothing" in m.en for m in found.diagnosis.missing) == (state == "inconclusive")


def test_a_question_on_the_curves_of_a_run_that_goes_on_is_answered_so_far(tmp_path):
    cut = HEALTHY.replace("step ", "Epoch [1/50], step ")
    found = asked(tmp_path, "the loss does not go down, halve the learning rate?", **{"train.log": cut})
    assert found.diagnosis.state == "healthy"
    assert "so far" in found.text


@pytest.mark.parametrize(("lang", "said"), [("en", "Only what is set"), ("zh", "只有设置")])
def test_settings_alone_are_no_diagnosis_where_the_log_could_not_be_read(tmp_path, lang, said):
    (tmp_path / "train.yaml").write_text("learning_rate: 0.001\nmax_grad_norm: 0.0\n")
    (tmp_path / "train.log").write_bytes(bytes(range(256)) * 20)
    answer = ask("is it fine?" if lang == "en" else "训练正常吗？", [tmp_path])
    assert (answer.diagnosis.state, said in answer.text) == ("inconclusive", True)


@pytest.mark.parametrize("kept", [0.15, 1.0])
def test_settings_and_notes_are_no_diagnosis_where_the_metrics_were_cut(tmp_path, kept):
    """Of a run that is sound to its end, only the first points are left, in which the rate still rises."""
    points = [
        {"step": s, "loss": 4.0 - s / 900 + 0.05 * (s % 3), "learning_rate": 1e-3 * min(s / 1200, 1.0)}
        for s in range(10, 2001, 10)
    ]
    state = json.dumps({"global_step": 2000, "max_steps": 2000, "log_history": points}, indent=1)
    (tmp_path / "trainer_state.json").write_text(state[: int(kept * len(state))])
    (tmp_path / "train.yaml").write_text("learning_rate: 0.001\nmax_steps: 2000\nwarmup_steps: 1200\n")
    answer = ask("is it fine?", [tmp_path])
    if kept < 1:
        assert answer.diagnosis.state == "inconclusive"
        assert "trainer_state.json" in " ".join(answer.short.splitlines()[:3])
    else:
        assert answer.diagnosis.state == "healthy"


@pytest.mark.parametrize(
    "question",
    [
        "the exported model scores 41.3 and the base has 41.3 too",
        "run B is 0.06 worse on val loss than run A",
        "the adapter has no effect at all",
        "合并后的模型 41.3 分，基座也是 41.3 分",
        "needle is perfect up to 8k and about a third at 64k",
        "checkpointing of activations is on, grad_norm and lr are the same as without it",
        "we turned on packing and the loss is as if it had never been set",
        "重计算打开之后 loss 没变化，开不开一个样",
        "新加的正则好像没生效",
    ],
)
def test_one_side_held_against_another_is_not_denied_by_a_sound_curve(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "inconclusive"


@pytest.mark.parametrize(
    "question",
    [
        "is that suspicious?",
        "did I break the experiment?",
        "did the new tokenizer file break something?",
        "我是不是弄坏了？",
    ],
)
def test_what_asks_in_general_is_no_complaint(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "healthy"


def test_a_setting_that_is_likely_wrong_is_what_a_sound_curve_that_answers_nothing_is_looked_at_for_first(tmp_path):
    settings = (
        "model_name_or_path: tiny\ntrain_file: a.jsonl\nlearning_rate: 1.2e-2\nwarmup_steps: 3\nmax_steps: 1030\n"
        "per_device_train_batch_size: 3\noptim: adamw_torch_fused\nlr_scheduler_type: cosine\n"
    )
    log = HEALTHY.replace(" lr 1e-4", "")
    more = {"train.yaml": settings, "train.log": log}
    found = asked(tmp_path, "worse than the same run last week, from the very start", **more)
    assert found.diagnosis.state == "inconclusive"
    assert found.diagnosis.top.entry.id == "warmup-too-short"
    assert "No failure in what was read" in " ".join(found.short.split())


def test_what_stands_beside_the_weights_of_any_model_is_about_nothing(tmp_path):
    model = {
        "config.json": '{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "pad_token_id": 0}',
        "tokenizer/tokenizer_config.json": '{"eos_token": "<|im_end|>", "pad_token": "<pad>"}',
        "tokenizer/chat_template.jinja": "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}",
    }
    found = asked(tmp_path, "the loss went up and never came back", **model)
    assert found.diagnosis.state == "inconclusive"
    assert "lead-subject" not in {f.code for f in found.diagnosis.findings}


def test_why_a_file_was_not_read_is_exact_and_said_in_the_language_of_the_question(tmp_path):
    more = {"metrics.jsonl": b"\0\1\2\xff binary" * 90, "trainer_state.json": '{"log_history": [1, 2'}
    said = " ".join(asked(tmp_path, "训练正常吗？", **more).diagnosis.missing[i].zh for i in (0, 1))
    assert "是二进制文件" in said
    assert "文件在 JSON 中间结束" in said


@pytest.mark.parametrize(
    "question",
    [
        "We retrained it on the corrected rows and it still gives the old prices. More epochs?",
        "Nothing blows up, but the answers read as if only the last page had been seen. Why?",
        "留出集 75%，上线后人评却还差一截，问题在哪？",
    ],
)
def test_what_speaks_against_reassurance_is_a_complaint(tmp_path, question):
    assert asked(tmp_path, question).diagnosis.state == "inconclusive"


def test_parts_that_differ_and_nobody_explains_keep_a_run_from_being_healthy(tmp_path):
    rows = "".join(f"{'AB'[i % 2]},{(0.1 if i % 2 else 0.9) + i % 5 / 100:.3f}\n" for i in range(60))
    apart = asked(tmp_path / "apart", "is this run fine?", **{"probe.csv": f"form,hit\n{rows}"})
    alike = asked(tmp_path / "alike", "is this run fine?", **{"probe.csv": f"form,hit\n{rows.replace('0.9', '0.1')}"})
    assert (apart.diagnosis.state, alike.diagnosis.state) == ("inconclusive", "healthy")


def test_a_second_curve_over_the_same_steps_is_not_called_healthy_by_the_first(tmp_path):
    def curve(floor):
        return "step,loss\n" + "".join(f"{i},{floor + 2 / (1 + i / 10) + i % 5 / 100:.4f}\n" for i in range(150))

    fill(tmp_path / "two", {"v1.csv": curve(1.0), "v2.csv": curve(1.6)})
    fill(tmp_path / "one", {"v1.csv": curve(1.0)})
    two, one = (ask("how did it go?", [tmp_path / d]).diagnosis for d in ("two", "one"))
    assert (two.state, one.state) == ("inconclusive", "healthy")
    assert any("v2.csv" in m.en or "v1.csv" in m.en for m in two.missing)


@pytest.mark.parametrize(
    ("names", "state"),
    [(("底座", "ckpt-1930"), "healthy"), (("base", "tuned"), "healthy"), (("tuned", "base"), "diagnosed"),
     (("zh", "en"), "inconclusive")],
)  # fmt: skip
def test_a_model_that_is_right_more_often_after_its_training_is_no_part_that_differs(tmp_path, names, state):
    low, high = ({"n": 800, "accuracy": rate} for rate in (0.712, 0.864))
    table = json.dumps({names[0]: low, names[1]: high}, ensure_ascii=False)
    found = asked(tmp_path, "is this run fine?", **{"compare.json": table})
    assert any(f.code == "rates-differ" for f in found.diagnosis.findings)
    assert found.diagnosis.state == state


TRAIN = """
from transformers import AutoTokenizer, Trainer
tokenizer = AutoTokenizer.from_pretrained("m")
def encode(rows):
    out = tokenizer(rows["text"], padding="max_length", max_length=256)
    out["labels"] = LABELS
    return out
Trainer(model=model, train_dataset=data.map(encode, batched=True)).train()
"""
SCORES = "".join(f'{{"step": {i}, "eval_accuracy": {0.2 + i / 400:.3f}}}\n' for i in range(0, 150, 5))


@pytest.mark.parametrize(
    ("labels", "more", "state"),
    [
        ('out["input_ids"]', {}, "inconclusive"),
        ('out["input_ids"].copy()', {"eval_loss.csv": "step,eval_loss\n0,3.0\n50,2.0\n100,1.5\n"}, "inconclusive"),
        ('out["input_ids"]', {"scores.jsonl": SCORES}, "healthy"),
        ("[[t if t else -100 for t in row] for row in out['input_ids']]", {}, "healthy"),
    ],
)
def test_a_loss_over_wrong_labels_does_not_clear_them(tmp_path, labels, more, state):
    found = asked(tmp_path, "is anything wrong?", **{"train.py": TRAIN.replace("LABELS", labels)}, **more)
    assert found.diagnosis.state == state
    assert ("labels that the program makes wrongly" in str(found.diagnosis.missing)) == (state != "healthy")


def judged_rows(column, values):
    """Answers of which half are right and score more, by a column of two values."""
    rows = (f"q{i},{values[i % 2]},{0.9 - 0.7 * (i % 2) + 0.001 * (i % 9):.3f}\n" for i in range(160))
    return f"question_id,{column},reward\n" + "".join(rows)


@pytest.mark.parametrize(
    ("column", "values", "state"),
    [
        ("outcome", ("exact", "wrong"), "healthy"),
        ("tagged_exact", ("true", "false"), "healthy"),
        ("source", ("web", "book"), "inconclusive"),
        ("lang", ("zh", "en"), "inconclusive"),
    ],
)
def test_right_answers_that_score_more_than_wrong_ones_are_no_parts_that_differ(tmp_path, column, values, state):
    found = asked(tmp_path, "is anything wrong?", **{"answers.csv": judged_rows(column, values)})
    assert found.diagnosis.state == state


def scored(name, score):
    value = {"results": {"arc_easy": {"acc,none": score, "acc_stderr,none": 0.01}}, "n-shot": {"arc_easy": 3},
             "model_name": name}  # fmt: skip
    return json.dumps(value, indent=1)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("arc_easy went from 71 to 52 after tuning", True),
        ("ARC-easy 从 71 掉到了 52", True),
        ("triviaqa went from 71 to 52 after tuning", False),
    ],
)
def test_scores_that_were_read_and_are_named_are_said_back(tmp_path, question, told):
    files = {"old/results.json": scored("one", 0.71), "new/results.json": scored("two", 0.67)}
    found = asked(tmp_path, question, **files).diagnosis
    said = " ".join(m.en for m in found.missing)
    assert ("arc_easy 71 (old)" in said and "arc_easy 67 (new)" in said) is told
    assert ("nothing that was read measures" in said) is not told


@pytest.mark.parametrize("question", ["the loss is noisier and higher at the same step", "loss 更抖，而且在同一步更高"])
def test_a_curve_that_was_read_is_not_called_unmeasured(tmp_path, question):
    found = asked(tmp_path, question).diagnosis
    assert found.state == "inconclusive"
    assert not any("measures what you say" in m.en for m in found.missing)


SEEDS = "ckpt,seed,f1,items\n" + "".join(
    f"{ckpt},{i},{v},300\n"
    for ckpt, of in ((800, (0.52, 0.49, 0.53, 0.5)), (900, (0.5, 0.53, 0.48, 0.505)))
    for i, v in enumerate(of)
)


@pytest.mark.parametrize("question", ["ckpt 900 is worse than ckpt 800", "新的检查点 900 比 800 差，退步了吗"])
def test_two_versions_that_the_noise_does_not_tell_apart_are_said_to_be_measured(tmp_path, question):
    found = asked(tmp_path, question, **{"eval.csv": SEEDS})
    assert (found.diagnosis.state, found.diagnosis.missing) == ("healthy", ())
    assert "no more than chance" in found.text or "没有超出随机误差" in found.text.replace("\n", "")


def test_a_version_that_the_seeds_do_tell_apart_is_no_all_clear(tmp_path):
    worse = (
        SEEDS.replace("900,0,0.5,", "900,0,0.41,")
        .replace("900,1,0.53", "900,1,0.42")
        .replace("900,2,0.48", "900,2,0.4")
    )
    found = asked(tmp_path, "ckpt 900 is worse than ckpt 800", **{"eval.csv": worse.replace("0.505", "0.405")})
    assert found.diagnosis.top.entry.id == "checkpoint-regression"


PRINTED = {
    "words": "2031-01-02 - eval - hanzi_2030_quiz acc 0.412 (base 0.409)   hanzi_2029_quiz acc 0.8\n",
    "dict": "{'eval_vqa_kites': 611.5, 'eval_pope_f1': 0.71, 'epoch': 1.0}\n",
    "pairs": "final | kites_qa/exact_match=0.37 | done\n",
}


@pytest.mark.parametrize(
    ("line", "question", "said"),
    [
        ("words", "新语料训完 2030 年的题一点没涨", "hanzi_2030_quiz 0.412 (train.log:151)"),
        ("dict", "kites came out at 611 vs 900 last time", "eval_vqa_kites 611.5 (train.log:151)"),
        ("pairs", "kites score dropped from 55 to 37", "kites_qa/exact_match 0.37 (train.log:151)"),
        ("dict", "boats came out at 611 vs 900 last time", ""),
        ("words", "新语料训完 2018 年的题一点没涨", ""),
    ],
)
def test_a_score_that_a_log_prints_once_is_not_called_unmeasured(tmp_path, line, question, said):
    found = asked(tmp_path, question, **{"train.log": HEALTHY + PRINTED[line]}).diagnosis
    told = " ".join(m.en for m in found.missing)
    assert said in told
    assert ("nothing that was read measures" in told) is not said


@pytest.mark.parametrize(
    ("key", "question", "told"),
    [
        ("drop%", "20% of tokens dropped, is that bad?", True),
        ("clip_frac", "why are so many answers clipped all the time", True),
        ("idle", "20% of tokens dropped, is that bad?", False),
    ],
)
def test_a_measure_of_what_is_complained_of_is_said_back(tmp_path, key, question, told):
    rows = "".join(f"{row} {key}={20 / (1 + i / 9):.3f}\n" for i, row in enumerate(HEALTHY.splitlines()))
    found = asked(tmp_path, question, **{"train.log": rows}).diagnosis
    said = " ".join(m.en for m in found.missing)
    assert ("was measured: " in said) is told
