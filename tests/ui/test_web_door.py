"""Who may come in, and how much they may bring: log-ins, other sites, uploads, and what a killed server left."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from webclient import Web, free_port, served

from triage.ui.web import attempts as attempts_module
from triage.ui.web import desk as desk_module
from triage.ui.web.attempts import Attempts
from triage.ui.web.door import foreign

KB = b"x" * 1000


@pytest.fixture
def web(tmp_path):
    (tmp_path / "home").mkdir()
    with served(tmp_path / "home") as (browser, desk):
        browser.desk = desk
        yield browser


def stored(desk):
    return [path for path in (desk.scratch.parent / "incoming").rglob("*") if path.is_file()]


# Log-ins --------------------------------------------------------------------------------------------


def test_a_hundred_wrong_passwords_are_not_compared_and_hold_up_nobody_else(tmp_path):
    with served(tmp_path, {"ann": "right", "bob": "right"}) as (web, _):
        codes = [web.log_in("bob", f"wrong {i}").status_code for i in range(100)]
        assert codes[:6] == [400] * 5 + [429]
        assert codes.count(429) > 88  # one more is compared after 1, 2, 4 ... seconds
        held = web.log_in("bob", "right")
        assert held.status_code == 429
        assert 0 < int(held.headers["retry-after"]) <= 60
        assert "try again in" in held.json()["detail"]
        assert web.log_in("ann", "right").status_code == 200


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(attempts_module.time, "monotonic", lambda: now[0])
    return now


def tried(attempts, name, place, clock, times=1):
    """Wrong log-ins, each as soon as it is let in; how long each waited."""
    waits = []
    for _ in range(times):
        waits.append(max(0.0, attempts.wait(name, place)))
        clock[0] += waits[-1]
        attempts.wrong(name, place)
    return waits


def test_waits_grow_to_a_limit_and_are_forgotten(clock):
    attempts = Attempts()
    waits = tried(attempts, "ann", "10.0.0.1", clock, 30)
    assert waits[:8] == [0, 0, 0, 0, 0, 1, 2, 4]
    assert waits == sorted(waits)
    assert waits[-1] == attempts_module.LONGEST
    clock[0] += attempts_module.FORGOTTEN + attempts_module.LONGEST
    assert tried(attempts, "ann", "10.0.0.1", clock, 5) == [0] * 5


def test_many_names_from_one_place_and_one_name_from_many_places_wait_too(clock):
    attempts = Attempts()
    for i in range(attempts_module.FREE["place"]):
        assert tried(attempts, f"name {i}", "10.0.0.1", clock) == [0]
    assert attempts.wait("one more", "10.0.0.1") > 0
    assert attempts.wait("one more", "10.0.0.2") <= 0
    for i in range(attempts_module.FREE["name"]):
        tried(attempts, "ann", f"10.0.1.{i}", clock)
    assert attempts.wait("ann", "10.0.0.9") > 0


def test_strangers_cannot_hold_up_whoever_signed_in_from_the_same_place_before(clock):
    attempts = Attempts()
    attempts.right("ann", "10.0.0.7")
    for i in range(200):
        tried(attempts, "ann", f"10.0.1.{i}", clock)
    assert attempts.wait("ann", "10.0.0.7") <= 0
    assert attempts.wait("ann", "10.0.0.8") > 0


def test_what_is_remembered_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(attempts_module, "MOST", 100)
    attempts = Attempts()
    for i in range(1000):
        attempts.wrong("x" * 10_000 + str(i), f"2001:db8:{i:x}::1")
    assert len(attempts._counts) == 100
    assert all(len(digest) == 32 for _, digest in attempts._counts)


def test_one_network_of_version_6_is_one_place(clock):
    attempts = Attempts()
    for i in range(attempts_module.FREE["place"]):
        attempts.wrong(f"name {i}", f"2001:db8::{i:x}")
    assert attempts.wait("ann", "2001:db8::ffff") > 0
    assert attempts.wait("ann", "2001:db8:1::1") <= 0


# Other sites ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"origin": "http://evil.example", "host": "localhost:7860"}, True),
        ({"origin": "null", "host": "localhost:7860"}, True),
        ({"origin": "http://localhost:9999", "host": "localhost:7860"}, True),
        ({"sec-fetch-site": "cross-site", "host": "localhost:7860"}, True),
        ({"sec-fetch-site": "same-site", "origin": "http://localhost:9999", "host": "localhost:7860"}, True),
        ({"origin": "http://localhost:7860", "host": "localhost:7860"}, False),
        ({"sec-fetch-site": "same-origin", "origin": "https://triage.corp", "host": "localhost"}, False),
        ({"origin": "http://triage.corp", "host": "localhost", "x-forwarded-host": "triage.corp"}, False),
        ({"host": "localhost:7860"}, False),
    ],
)
def test_a_request_of_another_sites_page_is_told(headers, refused):
    assert foreign(headers) == refused


def test_a_page_of_another_site_uploads_nothing_and_sends_no_event(web):
    web.begin()
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert web.upload(KB, headers=headers).status_code == 403
        assert web.post("/gradio_api/queue/join", content=b"{}", headers=headers).status_code == 403
    assert stored(web.desk) == []
    assert web.upload(KB, headers={"origin": str(web.base_url).rstrip("/")}).status_code == 200


# Uploads --------------------------------------------------------------------------------------------


def test_an_upload_needs_a_page_that_has_begun_and_belongs_to_it(web):
    web.get("/")
    refused = web.upload(KB)
    assert (refused.status_code, "load it again" in refused.text, stored(web.desk)) == (403, True, [])
    web.begin()
    [path] = web.upload(KB, "mine.log").json()
    with Web(base_url=web.base_url) as other:
        other.begin("another")
        stolen = other.event("another", "attach", files=[{"path": path, "name": "theirs.log"}])
        assert "not an uploaded file" in stolen
    attached = web.event("tab", "attach", files=[{"path": path, "name": "mine.log"}])
    assert "not an uploaded file" not in attached
    assert "mine.log" in attached


def test_a_file_of_the_question_is_read(web):
    web.begin()
    [path] = web.upload("\n".join(f"step {i} loss {2.0 if i < 40 else 'nan'}" for i in range(60)).encode()).json()
    file = {"path": path, "orig_name": "train.log", "meta": {"_type": "gradio.FileData"}}
    assert "not an uploaded file" not in web.event("tab", "begin", {"text": "loss is nan", "files": [file]})
    assert "loss is nan from step 40" in web.event("tab", "ask") + web.event("tab", "finish")


@pytest.mark.parametrize(("limit", "whose"), [("BYTES_LIMIT", "one person"), ("SERVER_LIMIT", "this server")])
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "in-pieces"])
def test_uploads_that_are_never_attached_count_from_the_first_byte(web, monkeypatch, limit, whose, declared):
    monkeypatch.setattr(desk_module, limit, 100_000)
    web.begin()
    for _ in range(3):
        assert web.upload(KB * 30 + os.urandom(8)).status_code == 200
    request = web.build_request("POST", "/gradio_api/upload", files={"files": ("more.log", KB * 30)})
    body = request.read()
    if not declared:
        request = web.build_request("POST", "/gradio_api/upload", content=iter([body[:9000], body[9000:]]),
                                    headers={"content-type": request.headers["content-type"]})  # fmt: skip
    refused = web.send(request)
    assert refused.status_code == 413
    assert f"limit of 0 MB for the uploads of {whose}" in refused.text
    assert len(stored(web.desk)) == 3
    assert web.desk._held == sum(path.stat().st_size for path in stored(web.desk))


def test_an_upload_that_is_cut_off_leaves_nothing_and_counts_no_more(web):
    web.begin()
    cookies = "; ".join(f"{k}={v}" for k, v in web.cookies.items())
    head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookies}\r\nContent-Length: 5000000\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    head += 'Content-Disposition: form-data; name="files"; filename="a.log"\r\n\r\n'
    with socket.create_connection((web.base_url.host, web.base_url.port)) as line:
        line.sendall(head.encode() + KB * 100)
        until(lambda: web.desk._held == 5_000_000 and stored(web.desk))
    until(lambda: web.desk._held == 0 and not stored(web.desk))


def test_what_is_not_attached_goes_after_a_while(web):
    web.begin()
    assert web.upload(KB).status_code == 200
    web.desk.sweep()
    assert len(stored(web.desk)) == 1
    web.desk.kept = 0
    web.desk.sweep()
    assert (stored(web.desk), web.desk._held) == ([], 0)


def test_a_request_that_is_no_upload_is_bounded(web):
    form = {"content-type": "application/x-www-form-urlencoded"}
    refused = web.post("/login", content=b"username=" + b"x" * (17 << 20), headers=form)
    assert (refused.status_code, "limit of 16 MiB" in refused.text) == (413, True)
    in_pieces = web.post("/login", content=(b"x=1&" * 250_000 for _ in range(100)), headers=form)
    assert in_pieces.status_code in (400, 413)


def until(holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


# Killed ---------------------------------------------------------------------------------------------


@pytest.fixture
def start(tmp_path):
    """Starts real servers over one folder for temporary files."""
    (tmp_path / "tmp").mkdir()
    running = []

    def start():
        port = free_port()
        command = [Path(sys.executable).with_name("triage"), "web", "--port", str(port), "--home", tmp_path / "home"]
        environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        running.append(server)
        assert "triage web" in server.stdout.readline()
        return server, Web(base_url=f"http://127.0.0.1:{port}")

    yield start
    for server in running:
        server.kill()
        server.wait()


def test_what_a_killed_server_left_is_swept_and_what_a_living_one_holds_is_not(start, tmp_path):
    folders = lambda: set((tmp_path / "tmp").glob("*triage-web-*"))  # noqa: E731
    killed, web = start()
    web.begin()
    case = web.event("tab", "begin", {"text": "loss is nan", "files": []}) + web.event("tab", "ask")
    assert "process_completed" in case
    [path] = web.upload(KB).json()
    [left] = folders()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert Path(path).exists()
    living, web = start()
    [held] = folders()
    assert (left == held, Path(path).exists()) == (False, False)
    web.begin()
    [kept] = web.upload(KB).json()
    start()
    assert len(folders()) == 2
    assert Path(kept).exists()
    living.terminate()
    assert living.wait(20) == 0
    assert held not in folders()
