"""Rules on what trainers, accelerators and loaders are told: arguments that contradict each other, and steps beside them."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...program import argument, key, last, receiver
from ...source import walk
from ..look import option
from ..meaning.ways import class_methods, opaque, returns
from ..rule import Fault, View, rule

ARGUMENTS = r"(Training|Seq2SeqTraining)Arguments$|(SFT|DPO|GRPO|PPO|KTO|ORPO|CPO|Reward|RLOO|Online\w{2,20})Config$"


Told = dict[str, object]
"""What a call is told: literal values, None for those that are not."""


class Contradiction(NamedTuple):
    """Arguments of one call that cannot all be meant."""

    calls: re.Pattern[str]
    when: Callable[[Told], bool]
    message: str
    zh: str


def _strategy(told: Told) -> object:
    return told.get("eval_strategy", told.get("evaluation_strategy", "no"))


def _unmatched(told: Told) -> bool:
    """The best model is wanted, and what is saved is not what is evaluated."""
    return told.get("load_best_model_at_end") is True and (
        (save := told.get("save_strategy", "steps")) is not None
        and (judge := _strategy(told)) is not None
        and save != judge
        and save != "best"
    )


CONTRADICTIONS = (
    Contradiction(re.compile(ARGUMENTS), _unmatched, "the best model is to be loaded, and it is not saved when it is evaluated: this raises at the start", "要加载最好的模型，但保存与评测的时机不一致：启动即报错"),
    Contradiction(re.compile(ARGUMENTS), lambda t: t.get("fp16") is True and t.get("bf16") is True, "fp16 and bf16 are both on: this raises", "fp16 与 bf16 同时打开：会报错"),
    Contradiction(re.compile(ARGUMENTS), lambda t: t.get("push_to_hub") is True and t.get("save_strategy") == "no", "it is to be pushed and nothing is saved", "要推送，却什么都不保存"),
    Contradiction(re.compile(r"(^|\.)DataLoader$"), lambda t: "batch_sampler" in t and t["batch_sampler"] is not False and any(n in t for n in ("batch_size", "shuffle", "sampler", "drop_last")), "a batch sampler decides batches, order and rest itself: this raises", "batch_sampler 自己决定批次与次序：会报错"),
    Contradiction(re.compile(r"(^|\.)DataLoader$"), lambda t: t.get("persistent_workers") is True and t.get("num_workers", 0) == 0, "workers are to stay and there are none: this raises", "要求 worker 常驻，却没有 worker：会报错"),
    Contradiction(re.compile(r"BitsAndBytesConfig$"), lambda t: t.get("load_in_4bit") is True and t.get("load_in_8bit") is True, "4 bit and 8 bit are both wanted: this raises", "同时要求 4 bit 与 8 bit：会报错"),
    Contradiction(re.compile(r"(^|\.)LoraConfig$"), lambda t: t.get("lora_alpha") == 0, "an alpha of 0 scales the adapter to nothing", "alpha 为 0：适配器被缩放为零"),
    Contradiction(re.compile(r"(^|\.)LoraConfig$"), lambda t: t.get("inference_mode") is True, "an adapter in inference mode has nothing to train", "推理模式下的适配器没有可训练参数"),
    Contradiction(re.compile(r"(^|\.)(Adam|AdamW|SGD|RMSprop)$"), lambda t: isinstance(t.get("lr"), (int, float)) and not isinstance(t.get("lr"), bool) and t["lr"] == 0, "a learning rate of 0 changes nothing", "学习率为 0：什么都不会更新"),
)  # fmt: skip


@rule("arguments-contradict", "S1", "renamed-argument", "load_best_model_at_end bf16 batch_sampler persistent_workers load_in_8bit LoraConfig lr=0 push_to_hub",
      bad=("""
      from transformers import TrainingArguments
      args = TrainingArguments("out", load_best_model_at_end=True, save_strategy="steps", eval_strategy="epoch")
      """, "from torch.utils.data import DataLoader\nloader = DataLoader(data, batch_sampler=sampler, batch_size=8)\n"),
      good=("""
      from transformers import TrainingArguments
      args = TrainingArguments("out", load_best_model_at_end=True, save_strategy="epoch", eval_strategy="epoch")
      """, "from torch.utils.data import DataLoader\nloader = DataLoader(data, batch_sampler=sampler)\n"))  # fmt: skip
def arguments_contradict(view: View) -> Iterator[Fault]:
    """Arguments of one call contradict each other.

    Why: the call raises, or one of them has no effect.
    """
    program = view.program
    for call in (n for n in program.each(ast.Call) if n.keywords):
        path = program.path(call.func)
        fitting = [c for c in CONTRADICTIONS if c.calls.search(path)]
        if (
            not fitting
            or opaque(view, call)
            or any(
                isinstance(a, ast.With) and "raises" in program.code(a.items[0].context_expr) for a in program.up(call)
            )
        ):
            continue
        told: Told = {k.arg: program.const(k.value) for k in call.keywords if k.arg}
        for one in fitting:
            if told.get("inference_mode") is True and not _trains(view):
                continue
            if one.when(told):
                yield Fault(call, one.message, one.zh)
                break


def _trains(view: View) -> bool:
    """Whether a program trains at all: one that only loads an adapter and answers may say so."""
    return view.program.mentions(".backward(", "Trainer(", ".fit(", ".train()", "get_peft_model", "optimizer")


PER_STEP = re.compile(
    r"^get_\w{1,40}_(schedule|schedule_with_warmup|restarts_schedule_with_warmup)$|^get_scheduler$|^OneCycleLR$"
)


@rule("schedule-per-epoch-in-lightning", "S1", "lr-schedule-misconfig", "configure_optimizers",
      bad="""
      import lightning as L
      class Net(L.LightningModule):
          def configure_optimizers(self):
              optimizer = torch.optim.AdamW(self.parameters(), lr=1e-4)
              scheduler = get_cosine_schedule_with_warmup(optimizer, 500, self.trainer.estimated_stepping_batches)
              return [optimizer], [scheduler]
      """,
      good="""
      import lightning as L
      class Net(L.LightningModule):
          def configure_optimizers(self):
              optimizer = torch.optim.AdamW(self.parameters(), lr=1e-4)
              scheduler = get_cosine_schedule_with_warmup(optimizer, 500, self.trainer.estimated_stepping_batches)
              return [optimizer], [{"scheduler": scheduler, "interval": "step"}]
      """)  # fmt: skip
def schedule_per_epoch_in_lightning(view: View) -> Iterator[Fault]:
    """A schedule that counts steps is stepped once per epoch, which is Lightning's default.

    Why: warm-up never ends: the rate stays near zero for the whole run.
    """
    program = view.program
    for function in program.functions.get("configure_optimizers", ()):
        text = program.code(function, 8000)
        if (
            re.search(r"interval|lr_scheduler_step", text)
            or "def lr_scheduler_step" in program.text
            or "automatic_optimization = False" in program.text
        ):
            continue
        for node in program.within(function):
            if (
                isinstance(node, ast.Call)
                and PER_STEP.search(last(program.path(node.func)))
                and _counts_steps(program.code(node, 600))
            ):
                statement = program.statement(node)
                name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
                given = any(name in {key(n) for n in walk(r)} - {""} or node in set(walk(r)) for r in returns(function))
                if given:
                    yield Fault(node, "this schedule counts steps, and Lightning steps it once per epoch: `interval` is not set",
                                "该调度按步计数，而 Lightning 默认每个 epoch 才更新一次：未设置 `interval`")  # fmt: skip


def _counts_steps(text: str) -> bool:
    return not re.search(
        r"max_epochs\s{0,4}\)?$|num_training_steps\s{0,4}=\s{0,4}(self\.)?(trainer\.)?(max_)?epochs", text
    )


@rule("training-step-without-loss", "S1", "loss-stagnation", "training_step",
      bad="""
      import lightning as L
      class Net(L.LightningModule):
          def training_step(self, batch, i):
              loss = self.net(batch).mean()
              self.log("loss", loss)
      """,
      good="""
      import lightning as L
      class Net(L.LightningModule):
          def training_step(self, batch, i):
              loss = self.net(batch).mean()
              self.log("loss", loss)
              return loss
      """)  # fmt: skip
def training_step_without_loss(view: View) -> Iterator[Fault]:
    """A Lightning training step returns no loss, or one that is cut from the graph.

    Why: Lightning skips the update without a word, or fails in backward.
    """
    program = view.program
    for function in program.functions.get("training_step", ()):
        owner = program.parent.get(function)
        methods = class_methods(view, function.body[0])
        lightning = isinstance(owner, ast.ClassDef) and any(
            program.path(b).endswith("LightningModule") for b in owner.bases
        )
        text = program.code(function, 20_000)
        if (
            not lightning
            or "automatic_optimization" in program.text
            or re.search(r"manual_backward|super\(\)|raise NotImplementedError|yield", text)
        ):
            continue
        ends = returns(function)
        computes = re.search(r"(^|\W)loss\w{0,20}\s{0,4}=(?!=)", text) or any(
            isinstance(n.value, ast.Call) and _is_loss(view, n.value) for n in program.within(function, ast.Assign))  # fmt: skip
        if not ends and computes and "backward" not in methods and "optimizer_step" not in methods:
            yield Fault(function, "the training step returns no loss: no update is made",
                        "training_step 没有返回 loss：不会更新")  # fmt: skip
        for value in ends:
            parts = value.values if isinstance(value, ast.Dict) else [value]
            names = (
                [k.value if isinstance(k, ast.Constant) else "" for k in value.keys]
                if isinstance(value, ast.Dict)
                else ["loss"]
            )
            for word, part in zip(names, parts, strict=True):
                origin = program.origin(part) if word == "loss" else None
                if isinstance(origin, ast.Call) and last(program.path(origin.func)) in ("item", "detach", "tolist"):
                    yield Fault(origin, "the loss that the training step returns is cut from the graph",
                                "training_step 返回的 loss 已脱离计算图", beside=(value,))  # fmt: skip


def _is_loss(view: View, call: ast.Call) -> bool:
    """Whether a call is one of a loss function, as its name or its make tells."""
    name = last(view.program.path(call.func))
    return bool(re.search(r"cross_entropy|_loss$|^loss_?", name)) or view.roles.of(call.func) == "criterion"


@rule("accumulation-stepped-through", "S2", "gbs-miscalculation", "training_step",
      bad="""
      from transformers import Trainer, TrainingArguments
      class Regularised(Trainer):
          def training_step(self, model, inputs, *rest):
              loss = self.compute_loss(model, self._prepare_inputs(inputs)) + penalty(model)
              self.optimizer.zero_grad()
              loss.backward()
              self.optimizer.step()
              return loss.detach()
      args = TrainingArguments("out", per_device_train_batch_size=4, gradient_accumulation_steps=16)
      """,
      good="""
      from transformers import Trainer, TrainingArguments
      class Regularised(Trainer):
          def training_step(self, model, inputs, *rest):
              loss = self.compute_loss(model, self._prepare_inputs(inputs)) + penalty(model)
              (loss / self.args.gradient_accumulation_steps).backward()
              return loss.detach()
      args = TrainingArguments("out", per_device_train_batch_size=4, gradient_accumulation_steps=16)
      """)  # fmt: skip
def accumulation_stepped_through(view: View) -> Iterator[Fault]:
    """A trainer's own step updates the weights for each micro-batch, and gradients are to be accumulated.

    Why: the trainer calls it for each micro-batch: the batch of an update is that many times smaller than set, and the
    trainer's own update finds gradients that were used already.
    """
    program = view.program
    told = [k.value for c in program.each(ast.Call) for k in c.keywords if k.arg == "gradient_accumulation_steps"]
    several = next((v for v in told if isinstance(n := program.usually(v), int) and n > 1), None)
    if several is None:
        return
    for function in program.functions.get("training_step", ()):
        owner = program.parent.get(function)
        trains = isinstance(owner, ast.ClassDef) and any(last(program.path(b)).endswith("Trainer") for b in owner.bases)
        if not trains or "sync_gradients" in program.code(function, 20_000):
            continue
        steps = (c for c in program.within(function, ast.Call) if last(program.path(c.func)) == "step"
                 and view.roles.of(receiver(c)) == "optimizer" and not program.guards(c))  # fmt: skip
        for call in steps:
            yield Fault(call, "the trainer's own step updates the weights for each micro-batch: nothing is accumulated",
                        "自定义的 training_step 对每个 micro batch 都更新权重：梯度累积不起作用", beside=(several,))  # fmt: skip
            break


@rule("evaluation-never-asked-for", "S3", "eval-metrics-empty", "eval_dataset",
      bad="""
      from transformers import Trainer, TrainingArguments
      args = TrainingArguments("out", num_train_epochs=3)
      Trainer(model, args, train_dataset=train, eval_dataset=val).train()
      """,
      good="""
      from transformers import Trainer, TrainingArguments
      args = TrainingArguments("out", num_train_epochs=3, eval_strategy="epoch")
      Trainer(model, args, train_dataset=train, eval_dataset=val).train()
      """)  # fmt: skip
def evaluation_never_asked_for(view: View) -> Iterator[Fault]:
    """A trainer has data to evaluate on and is never told to evaluate.

    Why: the default is never: a run that overfits looks as one that learns.
    """
    program = view.program
    if re.search(
        r"eval_strategy|evaluation_strategy|do_eval|\.evaluate\(|\.predict\(|HfArgumentParser|TrlParser|eval_on_start",
        program.text,
    ):
        return
    for call in (c for name in program.calls if name.endswith("Trainer") for c in program.calls[name]):
        told = option(program, call, "args") or (call.args[1] if len(call.args) > 1 else None)
        built = program.origin(told) if told is not None else None
        data = argument(call, "eval_dataset")
        given = (
            isinstance(built, ast.Call) and re.search(ARGUMENTS, program.path(built.func)) and not opaque(view, built)
        )
        if given and data is not None and not (isinstance(data, ast.Constant) and data.value is None) and not isinstance(program.scope(call), ast.Lambda):  # fmt: skip
            yield Fault(call, "there is data to evaluate on, and nothing asks for it",
                        "提供了评测数据，却从未要求评测", beside=(built,))  # pyright: ignore[reportArgumentType]  # fmt: skip
