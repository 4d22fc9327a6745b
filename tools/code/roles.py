"""What the values of a program are for: optimizer, scheduler, scaler, model, loader, ... by how they are made and used.

A name has one role in a file. Constructors tell first, then what is done with a name, its own word last; parameters take
the role of what is passed to them.
"""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ..patterns import bounded
from .program import Program, key, last, passed, receiver

MOST_NAMES = 20_000
"""Names whose roles are remembered from one program to the next."""
ROUNDS = 3
"""How often roles are passed on from one name to the next."""
MADE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("scheduler", bounded(r"lr_scheduler\.[A-Z]\w{1,40}$|(^|\.)get_(\w{1,40}_)?sched\w{0,40}$|(^|\.)get_scheduler$|[a-z]LR$|^\w{0,40}LRScheduler$|LambdaLR$|OneCycle|WarmRestarts$|ReduceLROnPlateau$")),
    ("sampler", bounded(r"Distributed\w{0,40}Sampler$")),
    ("scaler", bounded(r"GradScaler$")),
    ("accelerator", bounded(r"(^|\.)(Accelerator|Fabric)$")),
    ("engine", bounded(r"deepspeed\.initialize$")),
    ("rollout", bounded(r"vllm\.(\w{1,40}\.)*(LLM|AsyncLLMEngine)$|(^|\.)LLM$|sglang\.Engine$")),
    ("loader", bounded(r"DataLoader2?$|_dataloader$")),
    ("optimizer", bounded(r"torch\.optim\.(\w{1,40}\.)*[A-Z]\w{1,40}$|(^|\.)\w{0,40}(Adam|AdamW|SGD|Adagrad|RMSprop|Adafactor|Lion|LBFGS|Muon|Adam8bit|AdamW8bit)(\w{0,40}bit)?$|(^|\.)(create|build|configure|make|get)_optimi[sz]ers?(_v2)?$")),
    ("tokenizer", bounded(r"Tokenizer\w{0,40}\.from_pretrained$|Processor\.from_pretrained$|Tokenizer(Fast)?$")),
    ("criterion", bounded(r"torch\.nn\.\w{1,40}Loss$|(^|\.)\w{0,40}Loss$")),
    ("summary", bounded(r"SummaryWriter$|profiler\.profile$|(^|\.)profile$|tqdm$")),
    ("model", bounded(r"\w{0,40}Model\w{0,40}\.from_(pretrained|config)$|For[A-Z]\w{1,40}\.from_(pretrained|config)$|(^|\.)(DistributedDataParallel|DDP|FSDP|FullyShardedDataParallel|fully_shard|get_peft_model|DataParallel)$|torch\.nn\.(Sequential|Linear|Transformer\w{0,40}|LSTM|GRU|Module|ModuleList)$|torch\.compile$|from_pretrained$|[A-Z]\w{0,40}(LM|Model|Transformer|Network|Net|MLP|GPT)$|^(GPT|MLP|Net|LM)$")),
)  # fmt: skip
"""Role -> constructors, as resolved names; the first that fits."""
KEEPS = frozenset(
    ["to", "cuda", "cpu", "half", "bfloat16", "float", "train", "eval", "requires_grad_", "module", "compile", "eval_"]
)
"""Methods that return what they are called on."""
WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("scheduler", bounded(r"sched|(^|_)lrs?$|warmup_?er$", re.I)),
    ("optimizer", bounded(r"(^|_)opt(im\w{0,40})?(\d|_|$)|optimi[sz]er|^(adamw?|sgd)$", re.I)),
    ("scaler", bounded(r"scaler", re.I)),
    ("accelerator", bounded(r"^(accelerator|accel|fabric)$", re.I)),
    ("engine", bounded(r"^(model_)?engine$", re.I)),
    ("rollout", bounded(r"^(llm|vllm\w{0,40}|rollout_engine|sampler_engine)$", re.I)),
    ("loader", bounded(r"(^|_)(data)?_?loaders?$|(^|_)dl$", re.I)),
    ("sampler", bounded(r"sampler$", re.I)),
    ("tokenizer", bounded(r"^(tok|tokeni[sz]er|processor)$", re.I)),
    ("criterion", bounded(r"^(criterion|loss_fn|loss_func|loss_function)$", re.I)),
    ("summary", bounded(r"^(prof|profiler|writer|pbar|progress\w{0,40}|bar)$", re.I)),
    ("model", bounded(r"(^|_)(model|net|network|policy|actor|critic|lm|gpt|module|transformer|encoder|decoder|backbone|student|teacher)(_\w{0,40})?$|^(ddp|fsdp)$", re.I)),
)  # fmt: skip


@lru_cache(maxsize=MOST_NAMES)
def by_make(path: str) -> str:
    """The role of what a constructor of this name makes."""
    return next((role for role, pattern in MADE if pattern.search(path)), "")


@lru_cache(maxsize=MOST_NAMES)
def by_word(name: str) -> str:
    """The role that a name tells by its word."""
    return next((role for role, pattern in WORDS if pattern.search(name)), "")


class Roles:
    """The roles of one program's names."""

    def __init__(self, program: Program):
        self.program = program
        self.modules = {
            node.name
            for node in program.each(ast.ClassDef)
            if any(re.search(r"Module$|PreTrainedModel$|LightningModule$", program.path(b)) for b in node.bases)
        }
        self.known: dict[str, str] = {}
        for _ in range(ROUNDS):
            before = len(self.known)
            self._assignments()
            self._parameters()
            if len(self.known) == before:
                break
        self._uses()
        self._settled: dict[ast.Call, str] = {}

    def of(self, expr: ast.AST | None) -> str:
        """The role of a value; empty where nothing tells."""
        if expr is None:
            return ""
        if isinstance(expr, ast.Call):
            settled = getattr(self, "_settled", None)
            if settled is None:
                return self._made(expr)
            if expr not in settled:
                settled[expr] = self._made(expr)
            return settled[expr]
        name = key(expr)
        if not name:
            return self.of(expr.value) if isinstance(expr, (ast.Subscript, ast.Await)) else ""
        if name in self.known:
            return self.known[name]
        if (word := self._handed(expr)) is not None:
            return by_word(word)
        short = last(name)
        if short != name and short in self.known:
            return self.known[short]
        return by_word(short)

    def _handed(self, expr: ast.AST) -> str | None:
        """`model` of `kwargs["model"]`, where `**kwargs` is what a function is given."""
        if not isinstance(expr, ast.Subscript) or not isinstance(expr.slice, ast.Constant):
            return None
        rest = getattr(getattr(self.program.scope(expr), "args", None), "kwarg", None)
        return str(expr.slice.value) if rest is not None and key(expr.value) == rest.arg else None

    def sure(self, expr: ast.AST | None) -> str:
        """The role of a value as its constructor or its use tells it, not its word."""
        name = key(expr) if expr is not None else ""
        return self.known.get(name, "") if name else self.of(expr)

    def named(self, role: str) -> set[str]:
        """The names that are known to have a role."""
        return {name for name, has in self.known.items() if has == role}

    def _made(self, call: ast.Call) -> str:
        path = self.program.path(call.func)
        name = last(path)
        if name == "deepcopy" and call.args:
            return self.of(call.args[0])
        if name in KEEPS and (on := receiver(call)) is not None:
            return self.of(on)
        if name in ("prepare", "unwrap_model", "unwrap") and len(call.args) == 1:
            return self.of(call.args[0])
        if name in self.modules:
            return "model"
        if found := by_make(path):
            return found
        function = self.program.function(call)
        return self._returned(function) if function is not None else ""

    def _returned(self, function: ast.AST) -> str:
        for node in self.program.within(function, ast.Return):
            if isinstance(node.value, (ast.Name, ast.Attribute)):
                return self.known.get(key(node.value), "")
            if isinstance(node.value, ast.Call):
                path = self.program.path(node.value.func)
                return by_make(path)
        return ""

    def _assignments(self) -> None:
        for scoped in self.program.bound.values():
            for name, bindings in scoped.items():
                if name in self.known:
                    continue
                for binding in bindings:
                    if binding.value is None or binding.how not in ("assign", "with", "for"):
                        continue
                    if binding.how == "for":
                        if role := self._element(binding.value, binding.part):
                            self.known[name] = role
                            break
                    elif role := self._part(binding.value, binding.part):
                        self.known[name] = role
                        break

    def _element(self, value: ast.expr, part: int | None) -> str:
        """The one role of all that is gone through: of a list or table that is written out or made by a comprehension."""
        values = part is None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.args:
            values = (value.func.attr == "values" and part is None) or (value.func.attr == "items" and part == 1)
            value = value.func.value
        made = self.program.origin(value) if values else None
        each: list[ast.expr] = []
        if isinstance(made, (ast.ListComp, ast.GeneratorExp)):
            each = [made.elt]
        elif isinstance(made, ast.DictComp):
            each = [made.value]
        elif isinstance(made, ast.Dict):
            each = made.values
        elif isinstance(made, (ast.List, ast.Tuple)):
            each = made.elts
        said = {self._made(e) if isinstance(e, ast.Call) else self.known.get(key(e), "") for e in each[:8]}
        return said.pop() if len(said) == 1 else ""

    def _part(self, value: ast.expr, part: int | None) -> str:
        """The role of a value, or of one part of what a call returns."""
        if part is None:
            if isinstance(value, ast.Call):
                return self._made(value)
            return self.known.get(key(value), "") if key(value) else ""
        if not isinstance(value, ast.Call):
            return ""
        path = self.program.path(value.func)
        if path.endswith("deepspeed.initialize"):
            return ("engine", "optimizer", "loader", "scheduler")[part] if part < 4 else ""
        if last(path) == "optimizers" and not value.args:
            return "optimizer"
        if last(path) in ("prepare", "setup") and part < len(value.args):
            return self.of(value.args[part])
        function = self.program.function(value)
        returns = [n.value for n in self.program.within(function, ast.Return)] if function else []
        parts = next((r.elts for r in returns if isinstance(r, ast.Tuple)), [])
        return self.of(parts[part]) if part < len(parts) else ""

    def _parameters(self) -> None:
        for name, functions in self.program.functions.items():
            if len(functions) != 1:
                continue
            for call in self.program.calls.get(name, ()):
                for parameter, value in passed(functions[0], call):
                    if parameter not in self.known and (role := self.sure(value)):
                        self.known[parameter] = role

    def _kept(self) -> None:
        """`{"optimizer": x.state_dict()}` and `x.load_state_dict(state["optimizer"])` tell what `x` is."""
        pairs = [(k, v) for n in self.program.each(ast.Dict) for k, v in zip(n.keys, n.values, strict=True)
                 if isinstance(v, ast.Call) and last(self.program.path(v.func)) == "state_dict"]  # fmt: skip
        pairs += [
            (a.slice, c)
            for c in self.program.find("load_state_dict")
            for a in c.args[:1]
            if isinstance(a, ast.Subscript)
        ]
        for word, call in pairs:
            name = key(receiver(call)) if isinstance(call, ast.Call) else ""
            said = word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else ""
            role = by_word(said)
            if name and role and name not in self.known and by_word(last(name)) in ("", role):
                self.known[name] = role

    def _answering(self) -> None:
        """What is called and answers with `.logits` is a model, whatever its name."""
        program = self.program
        for node in program.each(ast.Attribute) if program.mentions("logits") else ():
            made = program.origin(node.value) if node.attr == "logits" else None
            name = key(made.func) if isinstance(made, ast.Call) else ""
            foreign = name in program.imports or name in program.functions or name in program.classes
            if name and "." not in name.removeprefix("self.") and not foreign and not by_word(last(name)):
                self.known.setdefault(name, "model")

    def _uses(self) -> None:
        """A name of no known make whose use tells: it is cleared and stepped, or scales a loss."""
        done: dict[str, set[str]] = {}
        for method in (
            "zero_grad",
            "step",
            "scale",
            "unscale_",
            "set_epoch",
            "train",
            "eval",
            "parameters",
            "named_parameters",
        ):
            for call in self.program.calls.get(method, ()):
                if (name := key(receiver(call))) and name not in self.known:
                    done.setdefault(name, set()).add(method)
        self._kept()
        self._answering()
        for name, methods in done.items():
            word = by_word(last(name))
            if {"zero_grad", "step"} <= methods and word != "engine":
                self.known[name] = "optimizer"
            elif {"scale", "step"} <= methods or "unscale_" in methods:
                self.known[name] = "scaler"
            elif "set_epoch" in methods and word != "loader":
                self.known[name] = "sampler"
            elif not word and name != "self" and methods & {"train", "eval", "parameters", "named_parameters"}:
                self.known[name] = "model"
