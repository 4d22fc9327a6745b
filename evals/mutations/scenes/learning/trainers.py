"""Scenes of trainers: Transformers, TRL, Lightning; what they are told, what texts they are given, what they log in with."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, without, written
from ...scene import Scene

HUB, RUNS, MODELS = (
    "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNm12345678"[:34],
    "7c1e9f04ab" + "52d86e3310f97b4c8a21de65f09b73",
    "sk-" + "proj-Zk3vQ9xW7bT2mL5nR8yC1dF6gH4jP0sA",
)
"""Keys of nobody, put together so that no search for keys takes them for one."""

SCENES = (
    Scene("trainer", """
        from transformers import AutoModelForSequenceClassification, EarlyStoppingCallback, Trainer, TrainingArguments
        from transformers.trainer_utils import get_last_checkpoint

        def metrics(eval_pred):
            OUT, LABELS = eval_pred
            return {"accuracy": (OUT.argmax(-1) == LABELS).mean()}
        ===
        found = get_last_checkpoint("out/cls")
        MODEL = AutoModelForSequenceClassification.from_pretrained("org/encoder-base", num_labels=4) #model
        args = TrainingArguments("out/cls", num_train_epochs=5, eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="accuracy", greater_is_better=True, bf16=True) #args
        trainer = Trainer(model=MODEL, args=args, train_dataset=DATASET, eval_dataset=HELDSET, compute_metrics=metrics, callbacks=[EarlyStoppingCallback(2)]) #trainer
        trainer.train(resume_from_checkpoint=found) #go
        trainer.save_model("out/cls/best")
    """, (
        Defect("arguments-contradict", written("args", 'save_strategy="epoch"', 'save_strategy="steps", save_steps=500'), ("args",)),
        Defect("best-is-the-worst", written("args", "greater_is_better=True", "greater_is_better=False"), ("args",)),
        Defect("trainer-begins-anew", all_of(written("model", '"org/encoder-base"', 'found or "org/encoder-base"'), written("go", "resume_from_checkpoint=found", "")), ("model", "go")),
    )),
    Scene("sft", """
        from datasets import load_dataset
        from transformers import AutoModelForCausalLM
        from trl import SFTConfig, SFTTrainer
        from pathlib import Path
        ===
        data = load_dataset("json", data_files={"train": "sft-train.jsonl", "dev": "sft-dev.jsonl"})
        saved = sorted(Path("out/sft").glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[-1])) #saved
        MODEL = AutoModelForCausalLM.from_pretrained("org/base-1b") #model
        common = dict(bf16=True, gradient_checkpointing=True, logging_steps=10) #common
        config = SFTConfig(output_dir="out/sft", learning_rate=1e-5, max_length=2048, eval_strategy="steps", eval_steps=200, **common) #config
        trainer = SFTTrainer(model=MODEL, args=config, train_dataset=data["train"], eval_dataset=data["dev"]) #trainer
        trainer.train(resume_from_checkpoint=str(saved[-1]) if saved else None) #go
    """, (
        Defect("evaluation-never-asked-for", written("config", ' eval_strategy="steps", eval_steps=200,', ""), ("trainer", "config")),
        Defect("arguments-contradict", written("config", "**common", "fp16=True, **common"), ("config", "common")),
        Defect("trainer-begins-anew", all_of(written("model", '"org/base-1b"', 'saved[-1] if saved else "org/base-1b"'), written("go", "resume_from_checkpoint=str(saved[-1]) if saved else None", "")), ("model", "go")),
        Defect("checkpoints-sorted-as-text", written("saved", ', key=lambda p: int(p.name.split("-")[-1])', ""), ("saved",)),
    )),
    Scene("tagger", """
        import lightning as L
        import torch
        import torch.nn.functional as F
        from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
        from sklearn.metrics import f1_score
        from torchmetrics.classification import MulticlassF1Score
        from transformers import get_linear_schedule_with_warmup

        class Tagger(L.LightningModule):
            def __init__(self, body, classes, lr=3e-5):
                super().__init__()
                self.body = body
                self.lr = lr
                self.f1 = MulticlassF1Score(classes)

            def training_step(self, BATCH, number): #step
                OUT = self.body(BATCH["x"])
                LOSS = F.cross_entropy(OUT, BATCH["y"])
                self.log("train/loss", LOSS, prog_bar=True)
                return LOSS #return

            def validation_step(self, BATCH, number):
                OUT = self.body(BATCH["x"])
                self.log("val/loss", F.cross_entropy(OUT, BATCH["y"]))
                self.f1.update(OUT, BATCH["y"])
                self.log("val/f1", self.f1) #logged

            def configure_optimizers(self):
                OPT = torch.optim.AdamW(self.parameters(), lr=self.lr)
                SCHED = get_linear_schedule_with_warmup(OPT, 500, self.trainer.estimated_stepping_batches) #schedule
                return {"optimizer": OPT, "lr_scheduler": {"scheduler": SCHED, "interval": "step"}} #given
        ===
        keep = ModelCheckpoint(dirpath="out", monitor="val/f1", mode="max", save_top_k=2) #keep
        stop = EarlyStopping(monitor="val/loss", patience=3) #stop
        trainer = L.Trainer(max_epochs=20, precision="bf16-mixed", callbacks=[keep, stop])
        trainer.fit(Tagger(build(), classes=9), DATA, HELD)
    """, (
        Defect("training-step-without-loss", without("return"), ("step",)),
        Defect("training-step-without-loss", written("return", "LOSS", '{"loss": LOSS.detach()}'), ("return", "step")),
        Defect("schedule-per-epoch-in-lightning", written("given", ', "interval": "step"', ""), ("schedule", "given")),
        Defect("schedule-per-epoch-in-lightning", all_of(
            written("schedule", "get_linear_schedule_with_warmup(OPT, 500, self.trainer.estimated_stepping_batches)", "torch.optim.lr_scheduler.OneCycleLR(OPT, self.lr, total_steps=self.trainer.estimated_stepping_batches)"),
            written("given", '{"optimizer": OPT, "lr_scheduler": {"scheduler": SCHED, "interval": "step"}}', "[OPT], [SCHED]")), ("schedule", "given")),
        Defect("ratio-averaged-over-batches", written("logged", "self.f1)", 'f1_score(BATCH["y"].cpu(), OUT.argmax(-1).cpu(), average="macro"))'), ("logged",)),
        Defect("best-is-the-worst", written("keep", ' mode="max",', ""), ("keep",)),
        Defect("best-is-the-worst", all_of(written("stop", '"val/loss"', '"val/f1"')), ("stop",)),
    )),
    Scene("plateau", """
        import torch
        from torch.utils.data import BatchSampler, DataLoader, RandomSampler
        from torch.optim.lr_scheduler import ReduceLROnPlateau
        ===
        OPT = torch.optim.SGD(MODEL.parameters(), lr=0.1, momentum=0.9)
        SCHED = ReduceLROnPlateau(OPT, mode="max", patience=2) #sched
        groups = BatchSampler(RandomSampler(DATASET), batch_size=32, drop_last=True)
        DATA = DataLoader(DATASET, batch_sampler=groups, num_workers=4, persistent_workers=True) #loader
        for EP in range(90):
            PASS(MODEL, DATA, OPT)
            accuracy = CHECK(MODEL, HELD)
            SCHED.step(accuracy) #step
    """, (
        Defect("best-is-the-worst", written("sched", ' mode="max",', ""), ("sched", "step")),
        Defect("arguments-contradict", written("loader", "batch_sampler=groups", "batch_sampler=groups, shuffle=True"), ("loader",)),
        Defect("arguments-contradict", written("loader", "num_workers=4, ", ""), ("loader",)),
    )),
    Scene("summaries", """
        from transformers import AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained("org/base-1b")
        limit = 2048

        def encode(ROW):
            prompt = "Summarise the article.\\n\\n" + ROW["article"] + "\\n\\nSummary:"
            summary = TOK(" " + ROW["summary"] + TOK.eos_token, add_special_tokens=False)["input_ids"] #summary
            head = TOK(prompt, truncation=True, max_length=limit - len(summary))["input_ids"] #head
            INPUTS = (head + summary)[:limit] #ids
            LABELS = ([-100] * len(head) + summary)[:limit] #labels
            return {"input_ids": INPUTS, "labels": LABELS}

        rows = raw.map(encode, remove_columns=raw.column_names)
    """, (
        Defect("truncation-cuts-the-answer", written("head", ", truncation=True, max_length=limit - len(summary)", ""), ("ids", "labels", "head")),
    )),
    Scene("questions", """
        import torch
        from transformers import AutoTokenizer

        class Questions(torch.utils.data.Dataset):
            def __init__(self, rows, name, max_length=1024):
                self.rows = rows
                self.max_length = max_length
                self.tokenizer = AutoTokenizer.from_pretrained(name)
                self.tokenizer.truncation_side = "left" #side

            def __len__(self):
                return len(self.rows)

            def __getitem__(self, i):
                row = self.rows[i]
                text = f"{row['passage']}\\n\\nQuestion: {row['question']}\\nAnswer: {row['answer']}{self.tokenizer.eos_token}" #text
                INPUTS = self.tokenizer(text, truncation=True, max_length=self.max_length, return_tensors="pt")["input_ids"][0] #ids
                LABELS = INPUTS.clone()
                LABELS[: -row["answer_tokens"]] = -100
                return {"input_ids": INPUTS, "labels": LABELS}
        ===
        DATASET = Questions(rows, "org/base-1b")
    """, (
        Defect("truncation-cuts-the-answer", without("side"), ("ids", "text")),
        Defect("truncation-cuts-the-answer", written("side", '"left"', '"right"'), ("side", "ids", "text")),
    )),
    Scene("logged-in", """
        import os
        import torch
        import wandb
        from huggingface_hub import HfApi
        from openai import OpenAI
        ===
        wandb.login(key=os.environ["WANDB_API_KEY"]) #wandb
        wandb.init(project="sft-7b", config={"lr": 2e-5, "epochs": 2})
        hub = HfApi(token=os.environ.get("HF_TOKEN")) #hub
        judge = OpenAI(api_key=os.environ["OPENAI_API_KEY"]) #judge
        database = os.environ["EVAL_DB"] #database
        hub.upload_folder(repo_id="org/sft-7b", folder_path="out/final")
    """, (
        Defect("key-in-code", written("hub", 'os.environ.get("HF_TOKEN")', f'"{HUB}"'), ("hub",)),
        Defect("key-in-code", ahead("wandb", f'os.environ["WANDB_API_KEY"] = "{RUNS}"', "set"), ("set",)),
        Defect("key-in-code", written("judge", 'os.environ["OPENAI_API_KEY"]', f'os.getenv("OPENAI_API_KEY", "{MODELS}")'), ("judge",)),
        Defect("key-in-code", written("database", 'os.environ["EVAL_DB"]', '"postgresql://evals:Tr41ning-box@db.internal:5432/evals"'), ("database",)),
    )),
)  # fmt: skip
