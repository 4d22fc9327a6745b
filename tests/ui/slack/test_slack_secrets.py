"""60 planted secrets of 15 kinds in a run that is asked about in Slack: no call to Slack holds a piece of one."""

import json

PIECE = 12
"""Length of a piece of a secret that must not be seen: words cut in the middle are found too."""


def planted_log(log: bytes, planted) -> bytes:
    """The secrets between the lines around the failure, which the evidence shows, and in an error at the end."""
    lines = log.decode().splitlines()
    for number, (_, line, _) in enumerate(planted):
        lines.insert(300 + 2 * number, line)
    errors = [f"RuntimeError: CUDA out of memory while {line}" for _, line, _ in planted[::3]]
    return "\n".join([*lines, *errors, ""]).encode()


def planted_config(config: bytes, planted) -> bytes:
    """The secrets above and below the settings that the answer quotes and changes."""
    rows = [f"hub_{kind}_{number}: {json.dumps(secret)}" for number, (kind, _, secret) in enumerate(planted)]
    lines = config.decode().splitlines()
    spread = [part for row, line in zip(rows, lines, strict=False) for part in (line, row)]
    return "\n".join([*spread, *lines[len(rows) :], *rows[len(lines) :], ""]).encode()


def seen(planted, text: str) -> list[tuple[str, str]]:
    """(kind, piece) of every secret of which the text holds a piece."""
    return [
        (kind, secret[at : at + PIECE])
        for kind, _, secret in planted
        for at in range(max(1, len(secret) - PIECE + 1))
        if secret[at : at + PIECE] in text
    ]


def files(slack, kit, run, planted):
    folder = kit.examples / run
    launch = "".join(f"export API_KEY_{i}={secret}\n" for i, (_, _, secret) in enumerate(planted))
    return [
        slack.file("train.log", planted_log((folder / "train.log").read_bytes(), planted)),
        slack.file("train.yaml", planted_config((folder / "train.yaml").read_bytes(), planted)),
        slack.file("launch.sh", ("#!/bin/bash\n" + launch).encode()),
    ]


def everything_sent(slack) -> str:
    return json.dumps([slack.calls, slack.uploads], ensure_ascii=False)


def test_none_reaches_slack_by_answer_buttons_verdict_or_error(slack, start, kit, planted):
    start()
    said = " ".join(line for _, line, _ in planted[::5])
    asked = slack.mention("C1", f"loss is nan at step 4000; {said}", files=files(slack, kit, "run-1", planted))
    thread = asked["ts"]
    [answer] = slack.answered("C1", thread)
    assert "loss-nan-high-lr" in kit.whole(answer)
    assert "`learning_rate` 0.3 -&gt; 0.15" in kit.whole(answer)
    assert any("learning_rate: 0.15" in upload["content"] for upload in slack.uploads.values())
    for count, button in enumerate(("evidence", "next", "wrong"), 2):
        slack.press(answer, button)
        slack.answered("C1", thread, count)
    assert "secret" in kit.whole(slack.answered("C1", thread, 2)[1])
    slack.mention("C1", "and now?", thread=thread)
    slack.answered("C1", thread, 5)
    slack.mention("C1", "verify", thread=thread, files=files(slack, kit, "run-2", planted))
    assert "*not-fixed*" in kit.whole(slack.answered("C1", thread, 6)[5])
    assert seen(planted, everything_sent(slack)) == []


def test_none_reaches_slack_by_file_names_paths_and_things_not_read(slack, start, kit, planted, tmp_path):
    start(roots=[f"C1={tmp_path}"])
    names = [s for kind, _, s in planted if kind in ("huggingface", "openai", "aws-id", "github", "slack", "jwt")]
    pictures = [slack.file(f"{name}.png", b"x", mimetype="image/png") for name in names[:6]]
    logs = [slack.file(f"{name}.log", kit.log) for name in names[6:12]]
    asked = [slack.mention("C1", "loss is nan", files=[*pictures, *logs])]
    asked += [slack.mention("C1", f"loss is nan --run {tmp_path}/{name}") for name in names[12:15]]
    asked += [slack.mention("C1", f"loss is nan in {tmp_path}/{name} why? {name}") for name in names[15:18]]
    for event in asked:
        slack.answered("C1", event["ts"])
    assert seen(planted, everything_sent(slack)) == []


def test_none_reaches_slack_by_a_tool_that_broke(slack, start, kit, planted, monkeypatch):
    secrets = "\n".join(line for _, line, _ in planted)

    def broken(*_, **__):
        raise RuntimeError(secrets)

    monkeypatch.setattr("triage.ui.slack.desk.Conversation.ask", broken)
    start()
    asked = slack.mention("C1", f"loss is nan {secrets}")
    slack.answered("C1", asked["ts"])
    assert seen(planted, everything_sent(slack)) == []
