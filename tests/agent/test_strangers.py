"""Small directories as strangers have them: what must be told of them, and what must not."""

import json

import pytest
from making import fill

from triage.agent.session import ask
from triage.tools.discover import discover
from triage.tools.logs.scan import read_run, scan


def state(losses, most: int, norms=None) -> str:
    every = most // len(losses)
    history = [
        {"step": every * (i + 1), "loss": loss, "learning_rate": 1e-5} | ({"grad_norm": norms[i]} if norms else {})
        for i, loss in enumerate(losses)
    ]
    return json.dumps({"global_step": history[-1]["step"], "max_steps": most, "log_history": history})


FALLING = [0.68, 0.42, 0.36, 0.35, 0.345, 0.33, 0.334, 0.33, 0.328]


def codes(folder) -> dict[str, str]:
    return {f.code: f.severity for f in scan(discover(folder)).findings}


def test_a_short_log_of_a_run_that_came_to_its_end_and_learned_is_healthy(tmp_path):
    fill(tmp_path, {"trainer_state.json": state(FALLING, 4500)})
    assert "run-healthy" in codes(tmp_path)


@pytest.mark.parametrize("losses", [[0.68, 0.69, 0.68, 0.69, 0.68, 0.67], [0.68, 0.4, 0.38]], ids=["flat", "three"])
def test_a_short_log_that_shows_nothing_is_not(tmp_path, losses):
    fill(tmp_path, {"trainer_state.json": state(losses, 4500)})
    assert "run-healthy" not in codes(tmp_path)


def test_the_twin_of_a_log_says_that_the_run_is_over(tmp_path):
    bar = "".join(f"epoch loss {1 / i:.3f} :  {i}%|#| {i}/200 [0:01<0:01, 1.0s/it]\n" for i in range(1, 179))
    fill(tmp_path, {"job.err": bar, "job.out": "Eval 178 | val loss 0.2\nTraining finished\n"})
    assert "log-ends-before-plan" not in codes(tmp_path)
    fill(tmp_path / "other", {"job.err": bar, "job.out": "Eval 178 | val loss 0.2\n"})
    assert "log-ends-before-plan" in codes(tmp_path / "other")


EVALUATED = "epoch,step,ppl\n" + "".join(f"{i},{53 * (i + 1)},{10 * 2**i:.2f}\n" for i in range(9))
TRAINED = "epoch,step,train_loss\n" + "".join(f"1,{i + 1},{7 / (i + 1):.4f}\n" for i in range(40))


def test_what_stands_in_a_file_of_the_evaluation_is_held_out(tmp_path):
    run = discover(fill(tmp_path, {"eval_log.csv": EVALUATED, "train_log.csv": TRAINED}))
    assert "eval_perplexity" in {s.metric for s in read_run(run).table}
    alone = discover(fill(tmp_path / "alone", {"eval_log.csv": EVALUATED}))
    assert "eval_perplexity" not in {s.metric for s in read_run(alone).table}


def decoded(*speeds: float) -> str:
    return "".join(
        f"prompt eval time =  900.00 ms /    40 tokens (   22.50 ms per token,    {2 * s:.2f} tokens per second)\n"
        f"       eval time = 9000.00 ms /    50 tokens (  180.00 ms per token,    {s:.2f} tokens per second)\n"
        for s in speeds
    )


def test_answers_slower_than_people_read_are_told(tmp_path):
    fill(tmp_path, {"server.log": decoded(2.4, 2.5, 2.3, 2.6)})
    assert codes(tmp_path)["decode-slow"] == "S2"


@pytest.mark.parametrize("speeds", [(32, 43, 40, 38), (2.4, 40, 41, 42, 39)], ids=["fast", "one slow"])
def test_a_fast_server_is_not(tmp_path, speeds):
    fill(tmp_path, {"server.log": decoded(*speeds)})
    assert "decode-slow" not in codes(tmp_path)


def test_a_server_that_was_started_again_is_not_being_shut_down(tmp_path):
    up, down = 'INFO:  Application startup complete.\nINFO: "POST /v1 HTTP/1.1" 200 OK\n', "INFO:     Shutting down\n"
    killed = 'run.sh: line 39: 109512 Killed   "$PYTHON" app.py\n'
    fill(tmp_path, {"nohup.log": up + down + up + killed})
    assert codes(tmp_path)["killed-without-reason"] == "S0"
    fill(tmp_path / "down", {"nohup.log": up + down + killed})
    assert codes(tmp_path / "down")["killed-without-reason"] == "S3"


def test_a_table_of_texts_and_their_classes_is_data(tmp_path):
    fill(tmp_path, {"queries.csv": "query,label\nWhich store?,3\nBest deal?,2\n"})
    assert [a.kind for a in discover(tmp_path).artifacts] == ["data"]
    fill(tmp_path / "other", {"results.csv": "label,count\n3,20\n2,10\n"})
    assert [a.kind for a in discover(tmp_path / "other").artifacts] != ["data"]


def test_an_error_that_the_run_outlived_does_not_lead_before_what_it_shows(tmp_path):
    lines = [f"step {i} loss {0.7 + 0.02 * i:.3f}\n" for i in range(1, 160)]
    lines.insert(40, "ERROR - Error: forward() got an unexpected keyword argument 'inputs_embeds'\n")
    fill(tmp_path, {"app.log": "".join(lines)})
    told = ask("Are these experiments fine?", [tmp_path]).diagnosis
    assert told.top is None or told.top.entry.id != "renamed-argument"


def test_types_that_differ_in_one_operation_have_an_entry(tmp_path):
    log = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    model(x)\n'
    log += "RuntimeError: Input type (c10::Half) and bias type (float) should be the same\n"
    fill(tmp_path, {"train.log": log})
    told = ask("How did this run end?", [tmp_path]).diagnosis
    assert told.top is not None
    assert told.top.entry.id == "dtype-mismatch"
