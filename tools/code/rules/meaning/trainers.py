"""Rules on what trainers, accelerators and loaders are told: arguments that contradict each other, and steps beside them."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...patch import instead
from ...program import argument, key, last, receiver
from ..look import option, source
from ..rule import Fault, View, rule
from .ways import class_methods, constructor, opaque, returns

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
    for call in (n for n in program.nodes if isinstance(n, ast.Call) and n.keywords):
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
            if one.when(told):
                yield Fault(call, one.message, one.zh)
                break


@rule("backward-beside-accelerator", "S1", "loss-oscillation", "Accelerator deepspeed",
      bad="""
      accelerator = Accelerator()
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          loss.backward()
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator()
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def backward_beside_accelerator(view: View) -> Iterator[Fault]:
    """Backward is called on the loss, past the library that prepared the model.

    Why: the loss is neither scaled nor divided, and DeepSpeed reduces nothing: steps are wrong or missing.
    """
    program = view.program
    prepared = [c for c in program.find("prepare") if view.roles.of(receiver(c)) == "accelerator"]
    engines = view.roles.named("engine") if "deepspeed.initialize" in program.text else set()
    if not prepared and not engines:
        return
    for training in view.trainings:
        backs = training.of("backward")
        for event in backs:
            steps = [s for s in training.of("step") if s.via == "engine"]
            if (
                event.via
                or any(b.via for b in backs)
                or not isinstance(event.node, ast.Call)
                or (engines and not steps and not prepared)
            ):
                continue
            owner = key(receiver(prepared[0])) if prepared else sorted(engines)[0]
            fix = (
                (instead(event.node, f"{owner}.backward({source(program, event.on)})"),)
                if event.on is not None and not event.node.args and owner
                else ()
            )
            yield Fault(
                event.node,
                f"backward is called on the loss, past `{owner}`",
                f"直接对 loss 反向传播，绕过了 `{owner}`",
                fix,
            )


@rule("accumulation-not-used", "S1", "gbs-miscalculation", "Accelerator(",
      bad="""
      accelerator = Accelerator(gradient_accumulation_steps=8)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator(gradient_accumulation_steps=8)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          with accelerator.accumulate(model):
              loss = model(**batch).loss
              accelerator.backward(loss)
              optimizer.step()
              optimizer.zero_grad()
      """)  # fmt: skip
def accumulation_not_used(view: View) -> Iterator[Fault]:
    """The accelerator is told to accumulate, and the loop steps every time without `accumulate`.

    Why: the loss is divided all the same: the batch is that many times smaller than meant, and so are the gradients.
    """
    program = view.program
    if re.search(r"\.accumulate\(|\.no_sync\(|sync_gradients|deepspeed|_do_sync|_set_sync", program.text):
        return
    for call in program.find("Accelerator"):
        count = argument(call, "gradient_accumulation_steps")
        number = program.const(count) if count is not None else None
        if count is None or (isinstance(count, ast.Constant) and number in (1, None)):
            continue
        for training in view.trainings:
            if (
                training.accumulation is None
                and training.whole
                and any(e.via == "accelerator" for e in training.of("backward"))
            ):
                yield Fault(
                    call,
                    "it is told to accumulate, and the loop has no `accumulate`: every pass steps",
                    "设置了梯度累积，循环里却没有 `accumulate`：每一遍都更新",
                    beside=(training.of("backward")[0].node,),
                )
                return


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
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and PER_STEP.search(last(program.path(node.func)))
                and _counts_steps(program.code(node, 600))
            ):
                statement = program.statement(node)
                name = key(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
                given = any(
                    name in {key(n) for n in ast.walk(r)} - {""} or node in set(ast.walk(r)) for r in returns(function)
                )
                if given:
                    yield Fault(
                        node,
                        "this schedule counts steps, and Lightning steps it once per epoch: `interval` is not set",
                        "该调度按步计数，而 Lightning 默认每个 epoch 才更新一次：未设置 `interval`",
                    )


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
        computes = re.search(r"(^|\W)loss\w{0,20}\s{0,4}=(?!=)", text)
        if not ends and computes and "backward" not in methods and "optimizer_step" not in methods:
            yield Fault(
                function,
                "the training step returns no loss: no update is made",
                "training_step 没有返回 loss：不会更新",
            )
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
                    yield Fault(
                        origin,
                        "the loss that the training step returns is cut from the graph",
                        "training_step 返回的 loss 已脱离计算图",
                        beside=(value,),
                    )


@rule("not-prepared", "S1", "loss-oscillation", "prepare(",
      bad="""
      accelerator = Accelerator(mixed_precision="fp16")
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      model, loader = accelerator.prepare(model, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """,
      good="""
      accelerator = Accelerator(mixed_precision="fp16")
      optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
      model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
      for batch in loader:
          loss = model(**batch).loss
          accelerator.backward(loss)
          optimizer.step()
          optimizer.zero_grad()
      """)  # fmt: skip
def not_prepared(view: View) -> Iterator[Fault]:
    """The optimizer that steps, or the loader that is trained on, is not what the accelerator prepared.

    Why: gradients stay scaled, steps are made in each micro-batch, or every rank trains on all the data.
    """
    program = view.program
    calls = [c for c in program.find("prepare") if view.roles.of(receiver(c)) == "accelerator"]
    if (
        not calls
        or any(isinstance(a, ast.Starred) for c in calls for a in c.args)
        or re.search(r"prepare_(optimizer|data_loader|model)|Dummy(Optim|Scheduler)", program.text)
    ):
        return
    given = {key(n) for c in calls for a in c.args for n in ast.walk(a)} - {""}
    for training in view.trainings:
        for step in training.of("step"):
            name = key(step.on)
            made = constructor(view, step.on)
            own = program.scope(step.node) is program.scope(calls[0])
            if (
                name
                and made
                and own
                and name not in given
                and step.via not in ("engine", "scaler")
                and last(name) not in {last(g) for g in given}
                and view.roles.sure(step.on) == "optimizer"
            ):
                yield Fault(
                    step.node,
                    f"`{name}` steps and was not prepared by the accelerator",
                    f"`{name}` 执行更新，却没有经过 accelerator.prepare",
                    beside=(calls[0],),
                )
                return


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
        if (
            given
            and data is not None
            and not (isinstance(data, ast.Constant) and data.value is None)
            and not isinstance(program.scope(call), ast.Lambda)
        ):
            yield Fault(
                call,
                "there is data to evaluate on, and nothing asks for it",
                "提供了评测数据，却从未要求评测",
                beside=(built,),
            )  # type: ignore[arg-type]
