"""The web app in a real Chromium: what starts it, and what a person does again and again."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import triage.evals

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytest.importorskip("gradio", reason="pip install 'llm-triage[web]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EXAMPLES = Path(triage.evals.__path__[0]) / "example"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
READY = re.compile(r"[a-z]{2}|[一-鿿]")
"""Words, not the seconds that Gradio counts while the page loads."""
expect = playwright.expect
expect.set_options(timeout=10_000)
MARKS = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def start(tmp_path, *options):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("triage"), "web", "--port", str(port), *options]
    env = {**os.environ, "TRIAGE_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(240):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
            return server, f"http://127.0.0.1:{port}"
        except OSError:
            assert server.poll() is None, server.stdout.read()
            time.sleep(0.25)
    raise AssertionError("the server did not start")


def add(page, path):
    page.fill("#tri-path input", str(path))
    page.keyboard.press("Enter")
    page.click("#tri-path-go")


def ask(page, question):
    page.fill("#tri-input textarea", question)
    page.keyboard.press("Enter")
    expect(page.locator("#tri-head .tri-state")).to_be_visible(timeout=30_000)
    expect(page.locator("#tri-input .submit-button, #tri-input button[aria-label=Submit]").first).to_be_visible()


def tab(page, name):
    page.get_by_role("tab", name=re.compile(f"^{name}")).click()
