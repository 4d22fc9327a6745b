"""What a run asks of its machine against what the machine is: number format and card, CUDA and driver, devices of the
processes that share it, launchers inside launchers.

The machine is the one that the run's own reports name (`nvidia-smi`, `collect_env`, a list of packages), never the one
on which triage runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..findings import Check, Evidence, Finding, Report, Severity, TriageError, clean, declare
from ..patterns import bounded
from ..reading import head
from ..run import Run
from ..settings import Settings

CARDS, DEVICES = "cards and drivers against what is asked of them", "devices and launchers of the commands"
CODES = declare(
    "machines",
    ("card-without-bf16", CARDS, "bf16 is set, and the card is of a generation that has none"),
    ("bf16-refused-on-capable-card", CARDS, "bf16 is refused on a card that has it: CUDA cannot be used there"),
    ("driver-below-cuda", CARDS, "the driver is for an older CUDA than the one torch was built with"),
    ("devices-overlap", DEVICES, "an engine and a training are started on the same cards"),
    ("launchers-nested", DEVICES, "a scheduler starts several launchers on a machine, and each starts all processes"),
)
CAPABILITY = (
    (bounded(r"Tesla [KMP]\d{2,3}\b|\bP(?:40|100)-|GTX 10\d\d"), 6.0),
    (bounded(r"\bV100\b|TITAN V\b|Quadro GV100"), 7.0),
    (bounded(r"\bT4\b|RTX 20\d\d|Quadro RTX \d{4}|TITAN RTX|GTX 16\d\d"), 7.5),
    (bounded(r"\bA(?:100|800|30)\b"), 8.0),
    (bounded(r"\bA(?:10G?|16|40)\b|RTX 30\d\d|RTX A\d{4}"), 8.6),
    (bounded(r"\bL(?:4|20|40S?)\b|RTX 40\d\d|RTX \d{4} Ada"), 8.9),
    (bounded(r"\bH(?:20|100|200|800)\b|GH200"), 9.0),
    (bounded(r"\bB(?:100|200)\b|GB200|RTX 50\d\d"), 10.0),
)
"""Model of a card -> compute capability."""
NAMES = re.compile(
    rb"NVIDIA|Tesla|GeForce|Quadro|RTX|TITAN|GPU|gpu_?name|device_?name|bf16|CUDA|\+cu\d|\xe6\x98\xbe\xe5\x8d\xa1"
)
"""Something of a file that speaks of cards, drivers or CUDA."""
CARD = bounded(r"NVIDIA|Tesla|GeForce|Quadro|RTX|TITAN|GPU ?\d|gpu_?name|device_?name|显卡")
BF16_FROM = 8.0
REFUSED = bounded(r"Your setup doesn't support bf16|bf16/gpu.{0,40}not supported")
DRIVES = bounded(r"CUDA Version: ?(\d{1,2})\.(\d{1,2})")
BUILT = bounded(r"(?i:torch)(?: ?version)?[^\n]{0,20}?\+cu(\d{2,3})\b|CUDA used to build PyTorch: ?(\d{1,2}\.\d{1,2})")
VISIBLE = bounded(r"\b(?:CUDA|ASCEND_RT|HIP)_VISIBLE_DEVICES=[\"']?(\d{1,3}(?:,\d{1,3}){0,127})")
ENGINE = bounded(r"\bvllm[ -]serve\b|vllm\.entrypoints|\bsglang\.launch_server|\blmdeploy serve\b|rollout_server")
TRAINS = bounded(
    r"\baccelerate launch\b|\btorchrun\b|\bdeepspeed\b|torch\.distributed\.(?:run|launch)"
    r"|\bpython3? .{0,80}(?:train|sft|grpo|ppo|dpo)"
)
USED = bounded(r"--(?:num_processes|nproc[_-]per[_-]node|num_gpus)[= ](\d{1,4})")
BESIDE = bounded(r"(?<!&)&(?!&)")
"""A command that is started beside the next, rather than before it."""
TASKS = bounded(r"--ntasks-per-node[= ](\d{1,4})")
SRUN = bounded(r"\bsrun\b")
PROSE = (".md", ".markdown", ".rst", ".html")
"""Files that tell of machines in general."""
FILES, BYTES, LINE = 80, 1 << 20, 1000


@dataclass(frozen=True)
class Said:
    """A line of a file."""

    file: str
    number: int
    text: str

    def evidence(self) -> Evidence:
        return Evidence(self.file, self.number, text=clean(self.text, 200))


def check_machines(run: Run, settings: Settings) -> Report:
    """What is asked of the machine, against what the run's reports say that it is."""
    said = [*_lines(run)]
    commands = [*_commands(run)]
    fits = [*_format(said, settings), *_driver(said)]
    starts = [*_overlap(commands), *_nested(commands)]
    checks = (_check(CARDS, fits, any(CARD.search(s.text) for s in said)), _check(DEVICES, starts, bool(commands)))
    return Report("machines", (*fits, *starts), checks)


def _check(name: str, found: list[Finding], looked: bool) -> Check:
    return Check(name, "found" if found else "clear" if looked else "not-applicable")


def _lines(run: Run) -> Iterator[Said]:
    """Lines of reports and logs that name a card, a driver or what torch was built with."""
    names = [(a.name, a.path) for a in run.of("document", "log", "table")]
    for name, path in [*names, *((s.name, run.root / s.name) for s in run.unknown)][:FILES]:
        if path.suffix.lower() in PROSE:
            continue
        for number, line in enumerate(_beginning(path), 1):
            text = line[:LINE]
            if any(shape.search(text) for shape in (CARD, REFUSED, DRIVES, BUILT)):
                yield Said(name, number, text)


def _beginning(path: Path) -> list[str]:
    """The first lines of a file that names a card, a driver or CUDA at all; none of one that cannot be read."""
    with suppress(TriageError, OSError):
        data = head(path, BYTES)
        return data.decode("utf-8", "replace").splitlines() if NAMES.search(data) else []
    return []


def _commands(run: Run) -> Iterator[Said]:
    """Lines of the scripts, continued ones joined."""
    for artifact in run.of("script"):
        whole, begun = "", 0
        for number, line in enumerate(head(artifact.path, BYTES).decode("utf-8", "replace").splitlines(), 1):
            begun = begun or number
            whole += line.rstrip("\\") + " "
            if not line.rstrip().endswith("\\"):
                if whole.strip() and (not whole.lstrip().startswith("#") or whole.lstrip().startswith("#SBATCH")):
                    yield Said(artifact.name, begun, whole.strip()[: 4 * LINE])
                whole, begun = "", 0


def _capability(text: str) -> float | None:
    return next((value for shape, value in CAPABILITY if shape.search(text)), None)


def _format(said: list[Said], settings: Settings) -> Iterator[Finding]:
    """bf16 on cards without it, and refused on cards with it."""
    cards = [(line, cap) for line in said if CARD.search(line.text) and (cap := _capability(line.text)) is not None]
    if not cards:
        return
    line, least = max(cards, key=lambda pair: pair[1])
    refused = next((one for one in said if REFUSED.search(one.text)), None)
    setting = settings.get("precision")
    if refused is not None and least >= BF16_FROM:
        yield Finding(
            "bf16-refused-on-capable-card", Severity.S1,
            f"{refused.file}:{refused.number} refuses bf16, and the card of {line.file}:{line.number} has it (compute "
            f"capability {least:.1f}): torch cannot use CUDA there, or is a build without it.",
            f"{refused.file}:{refused.number} 说不支持 bf16，但 {line.file}:{line.number} 的显卡支持（计算能力 "
            f"{least:.1f}）：是 torch 用不了 CUDA，或装的是不带 CUDA 的版本。",
            (refused.evidence(), line.evidence()), {"capability": least},
        )  # fmt: skip
    elif setting is not None and str(setting.value) == "bf16" and least < BF16_FROM:
        yield Finding(
            "card-without-bf16", Severity.S1,
            f"{setting.file}:{setting.line} sets bf16, and the card of {line.file}:{line.number} has compute "
            f"capability {least:.1f}: below {BF16_FROM:.1f} bf16 is refused, or emulated and slow.",
            f"{setting.file}:{setting.line} 设了 bf16，而 {line.file}:{line.number} 的显卡计算能力为 {least:.1f}：低于 "
            f"{BF16_FROM:.1f} 时 bf16 会报错，或靠模拟而很慢。",
            (setting.evidence(), line.evidence()), {"capability": least},
        )  # fmt: skip


def _driver(said: list[Said]) -> Iterator[Finding]:
    """The CUDA of the driver against the one that torch was built with; within one major an older driver will do."""
    drives = next(((line, m) for line in said if (m := DRIVES.search(line.text))), None)
    built = next(((line, m) for line in said if (m := BUILT.search(line.text))), None)
    if drives is None or built is None:
        return
    wants = built[1][2] or f"{built[1][1][:-1]}.{built[1][1][-1]}"
    has = f"{drives[1][1]}.{drives[1][2]}"
    if int(has.partition(".")[0]) < int(wants.partition(".")[0]):
        yield Finding(
            "driver-below-cuda", Severity.S1,
            f"torch is built with CUDA {wants} ({built[0].file}:{built[0].number}), the driver goes up to {has} "
            f"({drives[0].file}:{drives[0].number}): it is too old.",
            f"torch 用 CUDA {wants} 构建（{built[0].file}:{built[0].number}），驱动最高只支持 {has}"
            f"（{drives[0].file}:{drives[0].number}）：驱动太旧。",
            (built[0].evidence(), drives[0].evidence()), {"wants": wants, "has": has},
        )  # fmt: skip


def _overlap(commands: list[Said]) -> Iterator[Finding]:
    """Cards that an engine and a training are both given; index 0 of `4,5` is card 4."""
    exported: dict[str, list[int]] = {}
    engines: list[tuple[Said, list[int]]] = []
    trainings: list[tuple[Said, list[int]]] = []
    for line in commands:
        if line.text.startswith("#"):
            continue
        match, runs = VISIBLE.search(line.text), ENGINE.search(line.text) or TRAINS.search(line.text)
        cards = [int(n) for n in match[1].split(",")] if match else exported.get(line.file, [])
        if match and not runs:
            exported[line.file] = cards
        elif cards and ENGINE.search(line.text):
            engines.append((line, cards))
        elif cards and TRAINS.search(line.text):
            used = USED.search(line.text)
            trainings.append((line, cards[: int(used[1])] if used else cards))
    for engine, its in engines:
        for training, own in trainings:
            if both := sorted(set(its) & set(own)):
                cards = ", ".join(map(str, both))
                yield Finding(
                    "devices-overlap", Severity.S1 if BESIDE.search(training.text + engine.text) else Severity.S3,
                    f"The engine of {engine.file}:{engine.number} and the training of {training.file}:"
                    f"{training.number} are both given card {cards}.",
                    f"{engine.file}:{engine.number} 的推理引擎与 {training.file}:{training.number} 的训练都用了 "
                    f"{cards} 号卡。",
                    (engine.evidence(), training.evidence()), {"cards": both},
                )  # fmt: skip
                return


def _nested(commands: list[Said]) -> Iterator[Finding]:
    """`srun` with several tasks for each machine, each of which starts a launcher of as many processes."""
    tasks = {line.file: (line, int(m[1])) for line in commands if (m := TASKS.search(line.text))}
    for line in commands:
        if line.text.startswith("#") or not SRUN.search(line.text) or not TRAINS.search(line.text):
            continue
        used, (where, many) = USED.search(line.text), tasks.get(line.file, (line, 1))
        if used and many > 1 and int(used[1]) > 1:
            yield Finding(
                "launchers-nested", Severity.S1,
                f"{where.file}:{where.number} starts {many} tasks on each machine, and each is a launcher of {used[1]} "
                f"processes ({line.file}:{line.number}): {many * int(used[1])} instead of {used[1]}.",
                f"{where.file}:{where.number} 每台机器起 {many} 个任务，而每个任务又是启动 {used[1]} 个进程的启动器"
                f"（{line.file}:{line.number}）：共 {many * int(used[1])} 个，而不是 {used[1]} 个。",
                (where.evidence(), line.evidence()), {"tasks": many, "processes": int(used[1])},
            )  # fmt: skip
            return
