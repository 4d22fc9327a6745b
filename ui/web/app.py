"""The page: Gradio components, and which handler each event calls. Nothing is decided here."""

from __future__ import annotations

import json
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
from .layout import HERE, Layout, examples
from .line import LONGEST
from .talk import Talk
from .words import WORDS

PLACE = "(browser, place, talk) => [browser, (" + (HERE / "place.js").read_text() + ")(), talk]"
"""What the page knows of itself when it is opened."""
LAZY = ("plots", "labels")
"""Tabs that are drawn when they are looked at."""


class Page(Layout):
    """The handlers of the page."""

    def __init__(self, desk: Desk):
        self.desk = desk
        super().__init__(bool(desk.roots.folders), index(desk.home).runbook)
        with self.blocks:
            self._wire()

    # Events -----------------------------------------------------------------------------------------

    def _wire(self) -> None:
        """Each event names just the components that it changes: Gradio builds all others named anew."""
        self.panels = [
            self.chat, self.line, self.head, self.findings, self.causes, self.change, self.verdict, self.cases,
            self.reads, self.plots, self.labels, self.tabbed, *self.tabs.values(),
        ]  # fmt: skip
        words = [c for c, _, _ in self.worded]
        words += [self.path, self.next_path, self.folder, self.next_files, *self.panels]
        everything = list({c._id: c for c in words}.values())
        hint: dict[str, Any] = {"fn": None, "js": "() => triageHints()"}
        top: dict[str, Any] = {"fn": None, "js": "() => triageTop()"}
        on, talk = self._on, self.talk
        opened = on(
            self.blocks.load, self.start, [self.browser, self.place],
            [self.browser, *everything], js=PLACE,
        )  # fmt: skip
        opened.then(**hint).then(**top)
        self.blocks.unload(self.leave)
        on(self.chat.example_select, self.example, None, [self.input])
        begun = on(
            self.input.submit,
            self.begin,
            [self.input, self.path],
            [self.input, self.path, self.chat, self.line, self.head],
        )
        begun.then(**top)
        judged = on(self.next_files.upload, self.verify_upload, [], [self.verdict, self.input])
        named = on(self.verify.click, self.verify_path, [self.next_path], [self.verdict, self.input])
        done = everything
        for given, ends in ((opened, self.rejoin), (begun, self.finish), (judged, self.finish), (named, self.finish)):
            asking = on(given.then, self.ask, [], self.panels, trigger_mode="multiple")
            on(asking.then, ends, [], done, trigger_mode="multiple").then(**hint).then(**top)
        on(self.input.stop, self.stop, [], done).then(**top)
        for event, handler, inputs in (
            (self.folder.upload, self.attach, []),
            (self.reads.click, self.drop, []),
        ):
            on(event, handler, inputs, [self.reads])
        for event in (self.add.click, self.path.input):
            on(event, self.add_path, [self.path], [self.reads, self.path])
        on(self.findings.click, self.pick, [], [self.findings])
        evidence = "() => document.querySelector('#tri-tabs button[role=tab]')?.click()"
        for elsewhere in (self.causes, self.plots):
            on(elsewhere.click, self.point, [], [self.findings]).then(None, js=evidence)
        on(self.head.click, self.opinion, [], [self.cases])
        on(self.cases.click, self.open, [], self.panels).then(None, js="() => triageNarrow()")
        on(self.search.change, self.find, [self.search], [self.cases], trigger_mode="always_last")
        on(self.new.click, self.fresh, [], [self.path, self.input, *self.panels])
        on(self.lang.input, self.speak, [self.lang], everything).then(**hint)
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

    def start(self, browser: str, place: str | None, talk: Talk, request: gr.Request) -> dict[Any, Any]:
        """The page is opened, or loaded again: then it goes on where this tab was."""
        browser = browser if len(browser or "") >= 32 else secrets.token_urlsafe(32)
        tab, lang, case = where(place)
        talk.enter(self.desk.owner(request.username, browser))
        if kept := self.desk.talk(talk.owner, tab):
            talk.become(kept)
        elif not lang:
            talk.lang = "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"
        if lang and lang != talk.lang:
            turns.speak(talk, lang)
        talk.chosen = talk.chosen or bool(lang)
        self.desk.keep(talk, tab)
        self.desk.enter(talk.owner, request.session_hash or "", browser_of(request.headers))
        if case and case != talk.case and not turns.open_case(self.desk, talk, case):
            gr.Warning(WORDS["no-such-case"].say(talk.lang))
        return {self.browser: browser, **self.everything(talk), self.tabbed: gr.update(selected=talk.tab)}

    def leave(self, request: gr.Request) -> None:
        self.desk.leave(request.session_hash or "")

    def example(self, event: gr.SelectData) -> dict[Any, Any]:
        return {self.input: {"text": str(event.value["text"])[:200], "files": []}}

    def begin(self, message: Mapping[str, Any], path: str | None, talk: Talk) -> dict[Any, Any]:
        """Show the question at once, or put it in line; `ask` shows how it is answered."""
        text, files, busy = message.get("text") or "", message.get("files") or [], talk.busy
        try:
            came = self.desk.take(talk.owner, [(Path(f), Path(f).name) for f in files])
            if (path or "").strip():
                came.append(self._path_of(path, talk))
            if not came and not talk.paths and not talk.waiting:
                came = [self.desk.roots.path(name) for name in self.desk.roots.named(text)]
            put = turns.start(self.desk, talk, text, came) if text.strip() or came or talk.waiting else True
            if not put:
                talk.waiting += came
                raise TriageError(WORDS["line-full"].say(talk.lang, n=LONGEST))
        except TriageError as error:
            turns.failed(talk, str(error))
            return {self.input: typing(talk.busy, text), **self.now(talk)}
        head = {} if busy or not talk.busy else {self.head: self.headed(talk, loading=True)}
        return {self.input: typing(talk.busy, ""), self.path: None, **head, **self.now(talk)}

    def ask(self, talk: Talk) -> Iterator[dict[Any, Any]]:
        """What is being answered, and then what waits in line, as long as this tab shows it."""
        turn = None
        while talk.turn is not None and talk.turn is not turn:
            turn = talk.turn
            for panels_changed in turn.watch():
                if talk.turn is not turn:
                    break
                yield self.now(talk) | (self.shown(talk) if panels_changed else {})
        yield self.now(talk)

    def finish(self, talk: Talk) -> dict[Any, Any]:
        return self.everything(talk)

    def rejoin(self, talk: Talk) -> dict[Any, Any]:
        """What was being answered when the page was loaded again; without that, nothing has changed since."""
        return self.finish(talk) if talk.turn else {self.line: waits(talk)}

    def stop(self, talk: Talk) -> dict[Any, Any]:
        turns.stop(self.desk, talk)
        return self.finish(talk)

    def attach(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        try:
            talk.waiting += self._taken(talk, event)
        except TriageError as error:
            return {self.reads: self.reading(talk, str(error))}
        return {self.reads: self.reading(talk)}

    def drop(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        turns.drop(self.desk, talk, _picked(event, 300))
        return {self.reads: self.reading(talk)}

    def add_path(self, text: str | None, talk: Talk) -> dict[Any, Any]:
        """A path that was chosen; an empty box attaches nothing."""
        if not (text or "").strip():
            return {self.reads: self.reading(talk), self.path: gr.skip()}
        try:
            path = self._path_of(text, talk)
        except TriageError as error:
            return {self.reads: self.reading(talk, str(error)), self.path: gr.skip()}
        if path not in talk.paths:
            talk.waiting.append(path)
        return {self.reads: self.reading(talk), self.path: None}

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
        return {self.cases: panels.cases(found, self.runbook, talk.lang, talk.case, bool(words.strip()))}

    def fresh(self, talk: Talk) -> dict[Any, Any]:
        talk.fresh()
        return {self.path: None, self.input: typing(False), **self.shown(talk)}

    def speak(self, lang: str, talk: Talk) -> dict[Any, Any]:
        turns.speak(talk, "zh" if lang == "zh" else "en")
        return self.everything(talk)

    def verify_upload(self, talk: Talk, event: gr.EventData) -> dict[Any, Any]:
        return self._candidate(talk, lambda: next(iter(self._taken(talk, event)), None))

    def verify_path(self, text: str | None, talk: Talk) -> dict[Any, Any]:
        return self._candidate(talk, lambda: self._path_of(text, talk) if (text or "").strip() else None)

    def _candidate(self, talk: Talk, given: Callable[[], Path | None]) -> dict[Any, Any]:
        """Take the next run; it is compared now or after what is being answered."""
        try:
            if not turns.start_verify(self.desk, talk, given()):
                raise TriageError(WORDS["line-full"].say(talk.lang, n=LONGEST))
        except TriageError as error:
            talk.verdict, talk.problem = None, str(error)
        return {self.verdict: panels.verdict(None, talk.lang, loading=True), self.input: typing(talk.busy)}

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

    def now(self, talk: Talk) -> dict[Any, Any]:
        """What changes while an answer arrives."""
        return {self.chat: [dict(m) for m in talk.messages], self.line: waits(talk)}

    def headed(self, talk: Talk, loading: bool = False) -> str:
        runs = [self.desk.shown(p).rpartition("/")[2] for p in talk.paths]
        tabs = panels.with_content(talk.view, talk.paths)
        return panels.head(talk.view, self.runbook, talk.lang, talk.case, loading, talk.judged, runs, tabs)

    def shown(self, talk: Talk) -> dict[Any, Any]:
        """Every panel, but of those that are drawn when looked at only the one that is.

        Which tab is looked at is the person's: it is set only where that tab has nothing to show.
        """
        view, lang, runbook = talk.view, talk.lang, self.runbook
        hint = WORDS["empty-chat"].say(lang)
        moved = talk.tab not in panels.with_content(view, talk.paths)
        if moved:
            talk.tab = "evidence"
        titles = {}
        for name, tab in self.tabs.items():
            key = {"evidence": "findings", "causes": "hypotheses"}.get(name, "")
            count = f" ({len(view[key])})" if view and key and view[key] else ""
            titles[tab] = gr.update(label=WORDS[f"tab-{name}"].say(lang) + count)
        return {
            self.chat: gr.update(value=[dict(m) for m in talk.messages], placeholder=hint, examples=examples(lang)),
            self.line: waits(talk),
            self.head: self.headed(talk),
            self.findings: panels.findings(view, lang, talk.picked),
            self.causes: panels.causes(view, runbook, lang),
            self.change: panels.change(view, runbook, lang),
            self.verdict: panels.verdict(talk.verdict, lang, talk.problem),
            self.cases: panels.cases(self.desk.cases(talk.owner), runbook, lang, talk.case),
            self.reads: self.reading(talk),
            **({self.tabbed: gr.update(selected=talk.tab)} if moved else {}),
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
        updates[self.input] |= typing(talk.busy)
        updates[self.lang] |= gr.update(value=talk.lang)
        offered = [(self.desk.shown(Path(p)), p) for p in self.desk.offered()] if talk.owner else []
        for box in (self.path, self.next_path):
            updates[box] = gr.update(label=WORDS["path"].say(talk.lang), choices=offered)
        upload = panels.upload(talk.lang)
        return {**updates, self.folder: upload, self.next_files: upload, **self.shown(talk)}

    def reading(self, talk: Talk, problem: str = "") -> str:
        return panels.reads([self.desk.shown(p) for p in talk.paths], talk.lang, problem)

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


def typing(busy: bool, text: str | None = None) -> Any:
    """The input, with Stop while something is answered; what is asked then waits in line."""
    given: dict[str, Any] = {} if text is None else {"value": {"text": text, "files": []}}
    return gr.update(stop_btn=busy, submit_btn=not busy, **given)


def waits(talk: Talk) -> str:
    return panels.line(talk.turn.labels if talk.turn else [], talk.lang)


def where(place: str | None) -> tuple[str, str, str]:
    """What the page says of itself: its tab, the language that was chosen in it, the case that its address names."""
    try:
        said = json.loads(place or "{}")
    except ValueError:
        said = {}
    said = said if isinstance(said, dict) else {}
    tab, lang, case = (str(said.get(key) or "")[:64] for key in ("tab", "lang", "case"))
    return tab, lang if lang in ("en", "zh") else "", case
