"""Recorded runs: made once for a case and its repairs, kept under a home directory, found again by content.

A recording is `HOME/recordings/<key>/` with `run/` (what a user would have, and all that triage sees), `trace.json`
(what really happened) and `case.json`. Each is made in a process of its own with one thread.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...tools.findings import TriageError
from .fault import Case, Fault
from .recipes import RECIPES, Recipe, first_files, write_data

LIMIT = 400.0
"""Seconds after which a training is stopped and counted as hung."""


@dataclass(frozen=True)
class Spec:
    """Everything a recording follows from."""

    case: Case
    files: Mapping[str, str]
    """The run's configuration files as they are now (edited by repairs)."""
    repaired: frozenset[str] = field(default_factory=frozenset)
    """`fault/kind` of every hook that a repair has taken away."""

    @property
    def recipe(self) -> Recipe:
        return RECIPES[self.case.fault.recipe]

    def active(self, kind: str) -> list[tuple[Fault, Any]]:
        """The faults whose hook of this kind is still in force, with their severity."""
        return [(f, self.case.severity(f)) for f in self.case.all() if f"{f.name}/{kind}" not in self.repaired]

    @cached_property
    def key(self) -> str:
        """The same for specs that give the same run; says nothing about the fault."""
        versions = [f"{f.name}@{f.version}:{self.case.severity(f)!r}" for f in self.case.all()]
        base = RECIPES[self.recipe.base].version if self.recipe.base else 0
        parts = [self.recipe.name, self.recipe.version, base, versions, self.case.seed, sorted(self.files.items())]
        text = json.dumps([*parts, sorted(self.repaired)], ensure_ascii=False)
        return f"{self.recipe.name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def first(case: Case) -> Spec:
    """The spec of a case before any repair."""
    recipe = RECIPES[case.fault.recipe]
    faults = [(f, case.severity(f)) for f in case.all()]
    return Spec(case, first_files(recipe, faults, case.seed))


def healthy_of(case: Case) -> Spec:
    """The same training without the fault: what a repaired run is compared with."""
    return first(Case((f"healthy-{case.fault.recipe}",), case.seed))


@dataclass(frozen=True)
class Recording:
    """One recorded run."""

    spec: Spec
    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @cached_property
    def _trace(self) -> dict[str, Any]:
        return json.loads((self.root / "trace.json").read_text())

    @property
    def losses(self) -> list[float]:
        return self._trace["losses"]

    @property
    def outcome(self) -> dict[str, float]:
        return self._trace["outcome"]


def record(spec: Spec, home: Path) -> Recording:
    """The recording of a spec, made if it is not there."""
    if spec.recipe.base:
        base_model(spec.recipe.base, home)
    root = home / "recordings" / spec.key
    with _alone(root):
        if not (root / "trace.json").exists():
            partial = root.with_name(f".{root.name}")
            shutil.rmtree(partial, ignore_errors=True)
            (partial / "run").mkdir(parents=True)
            _make(spec, partial, home)
            shutil.rmtree(root, ignore_errors=True)
            partial.rename(root)
    return Recording(spec, root)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Two workers that want the same recording: the second waits for the first."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_name(f".{root.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def base_model(recipe: str, home: Path) -> Path:
    """The trained model of a recipe, which others start from; its folder has a name that a user could have given."""
    made = record(first(Case((f"healthy-{recipe}",), 0)), home)
    return made.run / "final"


def _make(spec: Spec, root: Path, home: Path) -> None:
    """Train in a child process whose console is the run's log.

    Raises:
        TriageError: the child could not start.
    """
    run = root / "run"
    for name, text in spec.files.items():
        (run / name).write_text(text, encoding="utf-8")
    write_data(run, spec.recipe, spec.active("dataset"), spec.case.seed, max(f.shards for f in spec.case.all()))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["triage.evals.lab.programs", "trl"])
    child = context.Process(target=_train, args=(spec, run, root / "trace.json", home))
    child.start()
    child.join(LIMIT)
    if child.is_alive():
        child.kill()
        child.join()
    if not (run / "train.log").exists():  # nothing was trained, so nothing may be kept
        raise TriageError(f"the training process of {spec.case.id} could not start (exit status {child.exitcode})")
    for rubbish in (".rendezvous", "README.md", "training_args.bin"):
        (run / rubbish).unlink(missing_ok=True)
    if not (root / "trace.json").exists():
        (root / "trace.json").write_text('{"losses": [], "outcome": {}}')
    (root / "case.json").write_text(json.dumps({"case": spec.case.id, "repaired": sorted(spec.repaired)}))


def _train(spec: Spec, run: Path, trace_file: Path, home: Path) -> None:
    """The body of the child: everything it prints, its traceback included, is the run's log."""
    log = os.open(run / "train.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    from .parts import Parts, Trace, settings_of
    from .text import save_tokenizer

    trace = Trace()
    status = 0
    try:
        _quiet(spec.case.seed)
        parts = Parts(run, settings_of(run))
        if "model_name_or_path" in parts.settings:
            parts.tokenizer = save_tokenizer(run / "tokenizer")
        if spec.recipe.base:
            parts.settings["model_name_or_path"] = str(base_model(spec.recipe.base, home))
        for fault, severity in spec.active("environment"):
            fault.environment(severity)

        def hook(parts: Parts) -> None:
            for fault, severity in spec.active("code"):
                fault.code(parts, severity)

        module, name = spec.recipe.program.split(".")
        getattr(importlib.import_module(f".{module}", __package__), name)(parts, trace, hook)
        _leave(spec, parts, trace)
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        sys.stderr.write(as_of_a_script(error))
        status = 1
    trace.save(trace_file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _leave(spec: Spec, parts: Any, trace: Any) -> None:
    """What people left beside the run, in a shape of its own for every fault and seed."""
    from .desk import Desk

    for fault in spec.case.all():
        rng = random.Random(f"{fault.name} {spec.case.seed}")
        fault.left(Desk(parts, trace, rng, f"{fault.name}/left" in spec.repaired), spec.case.severity(fault))


def as_of_a_script(error: BaseException) -> str:
    """The traceback as a user's script would print it: the lab's own frames, which name the fault, are one."""
    here = str(Path(__file__).parent)
    shown = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = shown
    while part is not None:
        libraries = [f for f in part.stack if not f.filename.startswith(here)]
        script = traceback.FrameSummary("train.py", 214, "main", lookup_line=False, line="main()")
        part.stack = traceback.StackSummary.from_list([script, *libraries])
        part = part.__cause__ or part.__context__
    return "".join(shown.format())


def _quiet(seed: int) -> None:
    import datasets
    import torch
    from transformers import set_seed

    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    set_seed(seed)


def timed(spec: Spec, home: Path) -> tuple[Recording, float]:
    start = time.monotonic()
    made = record(spec, home)
    return made, time.monotonic() - start
