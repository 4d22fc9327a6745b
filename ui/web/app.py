"""The page: Gradio components, and which handler each event calls. Nothing is decided here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from ...agent.session import index
from ...tools.findings import TriageError, clean
from ...tools.looking.lines import Excerpt
from . import panels, turns
from .desk import Desk
from .door import browser as browser_of
from .turns import Talk
from .words import WORDS

HERE = Path(__file__).parent
PICK = "element.addEventListener('click', e => { const b = e.target.closest('[data-pick]');"
PICK += " if (b) trigger('click', {pick: b.dataset.pick}); });"
DRAW = (
    "new MutationObserver(() => window.triagePlots?.draw(element)).observe(element, {childList: true, subtree: true});"
)
LAZY = ("plots", "labels")
"""Tabs that are drawn when they are looked at."""


class Page:
    """The components of the page by name, and the handlers."""

    def __init__(self, desk: Desk):
        self.desk, self.books = desk, index(desk.home)
        self.worded: list[tuple[Any, str, str]] = []
        """(component, property, key of its words), for the language switch."""
        self.tabs: dict[str, gr.Tab] = {}
        with gr.Blocks(title="triage", fill_width=True, fill_height=True, delete_cache=(600, 3600)) as self.blocks:
            self.talk = gr.State(Talk())
            self.browser = gr.BrowserState("", storage_key="triage-browser", secret="triage")
            self._side()
            with gr.Row(elem_id="tri-main"):
                with gr.Column(scale=5, min_width=340, elem_id="tri-left"):
                    self._conversation()
                with gr.Column(scale=6, min_width=340, elem_id="tri-right"):
                    self._results()
            self._wire()

    # Layout -----------------------------------------------------------------------------------------

    def _word(self, component: Any, prop: str, key: str) -> Any:
        self.worded.append((component, prop, key))
        setattr(component, prop, WORDS[key].say("en"))
        return component

    @staticmethod
    def _html(name: str, value: str = "", js: str | None = None) -> gr.HTML:
        return gr.HTML(value, js_on_load=js, elem_id=f"tri-{name}", apply_default_css=False)

    def _side(self) -> None:
        with gr.Sidebar(elem_id="tri-side", width=280):
            self._html("brand", "<h1 class='tri-brand'>triage</h1>")
            new = gr.Button(WORDS["new-case"].say("en"), variant="primary", size="sm")
            self.new = self._word(new, "value", "new-case")
            self.search = gr.Textbox(show_label=False, max_lines=1, container=False, elem_id="tri-search")
            self._word(self._word(self.search, "placeholder", "search"), "label", "search")
            self.cases = self._html("cases", js=PICK)
            with gr.Row(elem_id="tri-prefs"):
                self.lang = gr.Radio(
                    [("English", "en"), ("中文", "zh")],
                    value="en",
                    show_label=False,
                    container=False,
                    elem_id="tri-lang",
                )
                self._word(self.lang, "label", "language")
                theme = gr.Button(WORDS["theme"].say("en"), size="sm", elem_id="tri-theme")
                self._word(theme, "value", "theme").click(None, None, None, js="() => triageTheme()")

    def _conversation(self) -> None:
        self.chat = gr.Chatbot(
            show_label=False, container=False, elem_id="tri-chat", height="100%", latex_delimiters=[], allow_tags=False,
            buttons=["copy"], allow_file_downloads=False, feedback_options=None, group_consecutive_messages=True,
            placeholder=WORDS["empty-chat"].say("en"), examples=examples("en"),
        )  # fmt: skip
        self.reads = self._html("reads", js=PICK)
        self.input = gr.MultimodalTextbox(
            file_count="multiple", sources=["upload"], show_label=False, container=False, autofocus=True, max_lines=8,
            max_plain_text_length=200_000, elem_id="tri-input",
        )  # fmt: skip
        self._word(self._word(self.input, "placeholder", "ask"), "label", "ask")
        with gr.Row(elem_id="tri-attach", equal_height=True):
            self.folder = uploader("tri-folder")
            self.path, self.add = self._path("tri-path", "add")

    def _path(self, name: str, button: str) -> tuple[gr.Dropdown, gr.Button]:
        offered = bool(self.desk.roots.folders)
        box = gr.Dropdown(
            [], allow_custom_value=True, container=False, interactive=True, visible=offered, scale=3,
            elem_id=name, value=None, min_width=120,
        )  # fmt: skip
        go = gr.Button(WORDS[button].say("en"), size="sm", scale=0, min_width=72, visible=offered, elem_id=f"{name}-go")
        self._word(box, "label", "path")
        return box, self._word(go, "value", button)

    def _results(self) -> None:
        self.head = self._html("head", panels.head(None, "en"), PICK)
        with gr.Tabs(elem_id="tri-tabs"):
            with self._tab("evidence"):
                self.findings = self._html("findings", panels.findings(None, "en"), PICK)
            with self._tab("causes"):
                self.causes = self._html("causes", panels.causes(None, self.books.runbook, "en"), PICK)
            with self._tab("change"):
                self.change = self._html("change", panels.change(None, self.books.runbook, "en"))
            with self._tab("plots"):
                self.plots = self._html("plots", panels.plots(None, None, "en"), PICK + DRAW)
            with self._tab("verify"):
                with gr.Row(elem_id="tri-next", equal_height=True):
                    self.next_files = uploader("tri-next-files")
                    self.next_path, self.verify = self._path("tri-verify-path", "verify")
                self.verdict = self._html("verdict", panels.verdict(None, "en"))
            with self._tab("labels"):
                self.labels = self._html("labels", panels.labels(None, None, "en"))

    def _tab(self, name: str) -> gr.Tab:
        self.tabs[name] = gr.Tab(WORDS[f"tab-{name}"].say("en"), id=name, elem_id=f"tri-tab-{name}")
        return self.tabs[name]

    # Events -----------------------------------------------------------------------------------------

    def _wire(self) -> None:
        """Each event names just the components that it changes: Gradio builds all others named anew."""
        self.panels = [
            self.chat, self.head, self.findings, self.causes, self.change, self.verdict, self.cases, self.reads,
            self.plots, self.labels, self.tabs["evidence"], self.tabs["causes"],
        ]  # fmt: skip
        words = [c for c, _, _ in self.worded]
        words += [*self.tabs.values(), self.path, self.next_path, self.folder, self.next_files, *self.panels]
        everything = list({c._id: c for c in words}.values())
        hint: dict[str, Any] = {"fn": None, "js": "() => triageHints()"}
        on, talk = self._on, self.talk
        on(self.blocks.load, self.start, [self.browser], [self.browser, self.lang, *everything]).then(**hint)
        self.blocks.unload(self.leave)
        on(self.chat.example_select, self.example, None, [self.input])
        begun = on(self.input.submit, self.begin, [self.input], [self.input, self.chat, self.head])
        asking = on(begun.then, self.ask, [], [self.chat])
        on(asking.then, self.finish, [], [self.input, *self.panels])
        on(self.input.stop, self.finish, [], [self.input, *self.panels], cancels=[asking])
        for event, handler, inputs in (
            (self.folder.upload, self.attach, []),
            (self.reads.click, self.drop, []),
            (self.add.click, self.add_path, [self.path]),
        ):
            on(event, handler, inputs, [self.reads])
        on(self.findings.click, self.pick, [], [self.findings])
        evidence = "() => document.querySelector('#tri-tabs button[role=tab]')?.click()"
        for elsewhere in (self.causes, self.plots):
            on(elsewhere.click, self.point, [], [self.findings]).then(None, js=evidence)
        on(self.head.click, self.opinion, [], [self.cases])
        on(self.cases.click, self.open, [], self.panels).then(None, js="() => triageNarrow()")
        on(self.search.change, self.find, [self.search], [self.cases], trigger_mode="always_last")
        on(self.new.click, self.fresh, [], self.panels)
        on(self.lang.input, self.speak, [self.lang], everything).then(**hint)
        judged = on(self.next_files.upload, self.verify_upload, [], [self.verdict])
        named = on(self.verify.click, self.verify_path, [self.next_path], [self.verdict])
        for given in (judged, named):
            on(on(given.then, self.judge, [], [self.chat]).then, self.shown, [], self.panels)
        for name, tab in self.tabs.items():
            drawn = [getattr(self, name)] if name in LAZY else []
            on(tab.select, self.watcher(name), [talk], drawn, with_talk=False).then(**hint)

    def _on(
        self,
        event: Any,
        handler: Any,
        inputs: list[Any] | None,
        outputs: list[Any],
        with_talk: bool = True,
        **more: Any,
    ) -> Any:
        """Every handler gets the inputs and the tab's `Talk`, and gives a dict of all its outputs."""
        given = [*inputs, self.talk] if with_talk and inputs is not None else inputs
        return event(
            handler, given, outputs, api_visibility="private", concurrency_limit=None, show_progress="hidden", **more
        )

    # Handlers: each gives the components that changed ------------------------------------------------

    def start(self, browser: str, talk: Talk, request: gr.Request) -> dict[Any, Any]:
        browser = browser if len(browser or "") >= 32 else secrets.token_urlsafe(32)
        turns.enter(talk, self.desk.owner(request.username, browser))
        talk.lang = "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"
        self.desk.enter(talk.owner, request.session_hash or "", browser_of(request.headers))
        return {self.browser: browser, self.lang: talk.lang, **self.everything(talk)}

    def leave(self, request: gr.Request) -> None:
        self.desk.leave(request.session_hash or "")

    def example(self, event: gr.SelectData) -> dict[Any, Any]:
        return {self.input: {"text": str(event.value["text"])[:200], "files": []}}

    def begin(self, message: Mapping[str, Any], talk: Talk) -> dict[Any, Any]:
        """Show the question at once; `ask` answers it."""
        text, files = message.get("text") or "", message.get("files") or []
        try:
            talk.waiting += self.desk.take(talk.owner, [(Path(f), Path(f).name) for f in files])
        except TriageError as error:
            turns.failed(talk, str(error))
            text = ""
        else:
            text = text if text.strip() else WORDS["what-wrong"].say(talk.lang) if talk.waiting else ""
        talk.asked = turns.ask(self.desk, talk, text) if text else None
        if talk.asked:
            next(talk.asked)
        head = panels.head(None if talk.asked else talk.view, talk.lang, talk.case, loading=talk.asked is not None)
        return {self.input: self._typing(talk.asked is not None), self.chat: talk.messages, self.head: head}

    def ask(self, talk: Talk) -> Iterator[dict[Any, Any]]:
        for _ in talk.asked or ():
            yield {self.chat: talk.messages}
        yield {self.chat: talk.messages}

    def finish(self, talk: Talk) -> dict[Any, Any]:
        talk.asked = None
        return {self.input: self._typing(False), **self.shown(talk)}

    @staticmethod
    def _typing(busy: bool) -> Any:
        empty: dict[str, Any] = {"value": {"text": "", "files": []}} if busy else {}
        return gr.update(stop_btn=busy, submit_btn=not busy, **empty)

    def attach(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        try:
            talk.waiting += self._taken(talk, event)
        except TriageError as error:
            return {self.reads: self.reading(talk, str(error))}
        return {self.reads: self.reading(talk)}

    def drop(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        talk.waiting = [p for p in talk.waiting if self.desk.shown(p) != _picked(event, 300)]
        return {self.reads: self.reading(talk)}

    def add_path(self, text: str | None, talk: Talk) -> dict[Any, Any]:
        try:
            path = self._path_of(text, talk)
        except TriageError as error:
            return {self.reads: self.reading(talk, str(error))}
        if path not in talk.paths:
            talk.waiting.append(path)
        return {self.reads: self.reading(talk)}

    def pick(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        found: list[Excerpt] = []
        problem = ""
        try:
            found = turns.lines(talk, _picked(event))
        except TriageError as error:
            problem = str(error)
        return {self.findings: panels.findings(talk.view, talk.lang, talk.picked, found, problem)}

    def point(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        """A finding that another panel leads to; it is open afterwards."""
        talk.picked = ""
        return self.pick(talk, event)

    def open(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        if not turns.open_case(self.desk, talk, _picked(event)):
            raise gr.Error(WORDS["no-such-case"].say(talk.lang))
        return self.shown(talk)

    def find(self, words: str, talk: Talk) -> dict[Any, Any]:
        found = self.desk.cases(talk.owner, words)
        return {self.cases: panels.cases(found, talk.lang, talk.case, bool(words.strip()))}

    def fresh(self, talk: Talk) -> dict[Any, Any]:
        turns.fresh(talk)
        return self.shown(talk)

    def speak(self, lang: str, talk: Talk) -> dict[Any, Any]:
        turns.speak(talk, "zh" if lang == "zh" else "en")
        return self.everything(talk)

    def verify_upload(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        return self._candidate(talk, lambda: next(iter(self._taken(talk, event)), None))

    def verify_path(self, text: str | None, talk: Talk) -> dict[Any, Any]:
        return self._candidate(talk, lambda: self._path_of(text, talk) if (text or "").strip() else None)

    def _candidate(self, talk: Talk, given: Callable[[], Path | None]) -> dict[Any, Any]:
        """Take the next run; `judge` compares it."""
        try:
            talk.asked = turns.verify(self.desk, talk, given())
        except TriageError as error:
            talk.asked, talk.verdict, talk.problem = None, None, str(error)
        return {self.verdict: panels.verdict(None, talk.lang, loading=True)}

    judge = ask

    def watcher(self, tab: str) -> Any:
        """The handler of a tab that is now looked at."""

        def look(talk: Talk) -> Iterator[dict[Any, Any]]:
            talk.tab = tab
            if talk.view:
                yield {getattr(self, tab): panels.render("loading", talk.lang)}
            yield self.lazy(talk)

        def note(talk: Talk) -> None:
            talk.tab = tab

        return look if tab in LAZY else note

    def opinion(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        gr.Info(turns.feedback(self.desk, talk, _picked(event)), duration=4)
        return self.find("", talk)

    # Pictures of the state --------------------------------------------------------------------------

    def shown(self, talk: Talk) -> dict[Any, Any]:
        """Every panel; those that are drawn when looked at are empty until then."""
        view, lang, runbook = talk.view, talk.lang, self.books.runbook
        titles, hint = {}, WORDS["empty-chat"].say(lang)
        for tab, key in (("evidence", "findings"), ("causes", "hypotheses")):
            count = f" ({len(view[key])})" if view and view[key] else ""
            titles[self.tabs[tab]] = gr.update(label=WORDS[f"tab-{tab}"].say(lang) + count)
        return {
            self.chat: gr.update(value=talk.messages, placeholder=hint, examples=examples(lang)),
            self.head: panels.head(view, lang, talk.case),
            self.findings: panels.findings(view, lang, talk.picked),
            self.causes: panels.causes(view, runbook, lang),
            self.change: panels.change(view, runbook, lang),
            self.verdict: panels.verdict(talk.verdict, lang, talk.problem),
            self.cases: panels.cases(self.desk.cases(talk.owner), lang, talk.case),
            self.reads: self.reading(talk),
            self.plots: "",
            self.labels: "",
            **titles,
            **self.lazy(talk),
        }

    def lazy(self, talk: Talk) -> dict[Any, Any]:
        """The panel of the tab that is looked at, if it is one that is drawn then."""
        if talk.tab not in LAZY:
            return {}
        panel = getattr(self, talk.tab)
        try:
            seen = talk.look() if talk.view else None
        except TriageError as error:
            return {panel: panels.render("problem", talk.lang, problem=str(error))}
        if talk.view and seen is None and talk.view["findings"]:
            return {panel: panels.render("problem", talk.lang, problem=WORDS["files-gone"].say(talk.lang))}
        if talk.tab == "plots":
            return {panel: panels.plots(seen, talk.view, talk.lang, talk.look_next(self.desk.remember))}
        return {panel: panels.labels(panels.token_dump(seen.run) if seen else None, seen and seen.run, talk.lang)}

    def everything(self, talk: Talk) -> dict[Any, Any]:
        """The panels and every word of the interface."""
        updates: dict[Any, Any] = {}
        for component, prop, key in self.worded:
            words: dict[str, Any] = {prop: WORDS[key].say(talk.lang)}
            updates[component] = updates.get(component, {}) | gr.update(**words)
        for name, tab in self.tabs.items():
            updates[tab] = gr.update(label=WORDS[f"tab-{name}"].say(talk.lang))
        offered = self.desk.offered() if talk.owner else []
        for box in (self.path, self.next_path):
            updates[box] = gr.update(label=WORDS["path"].say(talk.lang), choices=offered)
        upload = panels.upload(talk.lang)
        return {**updates, self.folder: upload, self.next_files: upload, **self.shown(talk)}

    def reading(self, talk: Talk, problem: str = "") -> str:
        return panels.reads([(self.desk.shown(p), p in talk.waiting) for p in talk.paths], talk.lang, problem)

    # What a browser sent ----------------------------------------------------------------------------

    def _taken(self, talk: Talk, event: gr.EventData) -> list[Path]:
        """The upload that the page reports, moved to the owner's folder."""
        sent = event._data.get("files") if isinstance(event._data, dict) else None
        items = [item for item in sent if isinstance(item, dict)] if isinstance(sent, list) else []
        return self.desk.take(talk.owner, [(Path(str(item.get("path"))), str(item.get("name"))) for item in items])

    def _path_of(self, text: str | None, talk: Talk) -> Path:
        self.desk.known(talk.owner)
        path = self.desk.roots.path(text or "")
        if not path.exists():
            raise TriageError(f"{clean(text or '', 200)!r}: no such file or folder; choose one of the list")
        return path


def _picked(event: gr.EventData, most: int = 40) -> str:
    data = event._data
    return str(data.get("pick", ""))[:most] if isinstance(data, dict) else ""


def uploader(name: str) -> gr.HTML:
    """A folder or several files, with their names inside the folder, which Gradio's own upload drops."""
    return gr.HTML(
        panels.upload("en"), js_on_load=(HERE / "upload.js").read_text(), elem_id=name, apply_default_css=False
    )


def examples(lang: str) -> list[Any]:
    return [{"text": WORDS[f"example-{n}"].say(lang)} for n in (1, 2, 3)]
