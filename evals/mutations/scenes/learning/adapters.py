"""Scenes of adapters and of training that a library prepares."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("second-round", """
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from trl import SFTConfig, SFTTrainer
        ===
        base = AutoModelForCausalLM.from_pretrained("org/Base-7B", torch_dtype=torch.bfloat16)
        MODEL = PeftModel.from_pretrained(base, "out/first-round", is_trainable=True) #adapter
        trainer = SFTTrainer(model=MODEL, args=SFTConfig("out/second-round", max_steps=500), train_dataset=DATASET) #trainer
        trainer.train()
        MODEL = MODEL.merge_and_unload() #merge
        MODEL.save_pretrained("out/merged")
    """, (
        Defect("adapter-not-trainable", written("adapter", ", is_trainable=True", ""), ("adapter",)),
        Defect("result-thrown-away", written("merge", "MODEL = MODEL.merge_and_unload()", "MODEL.merge_and_unload()"), ("merge",)),
    )),
    Scene("loaded-policy", """
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM

        def load_policy(path, adapter):
            base = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16)
            return PeftModel.from_pretrained(base, adapter, is_trainable=True) #adapter
        ===
        POLICY = load_policy("org/Base-7B", "out/sft")
        OPT = torch.optim.AdamW([p for p in POLICY.parameters() if p.requires_grad], lr=1e-6) #opt
        for BATCH in DATA:
            LOSS = POLICY(**BATCH).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
        POLICY.save_pretrained("out/policy")
    """, (
        Defect("adapter-not-trainable", written("adapter", ", is_trainable=True", ""), ("adapter",)),
    )),
    Scene("new-words", """
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
        ===
        TOK = AutoTokenizer.from_pretrained("org/Base-7B")
        MODEL = AutoModelForCausalLM.from_pretrained("org/Base-7B", torch_dtype=torch.bfloat16)
        TOK.add_tokens(["<tool>", "</tool>"], special_tokens=True) #tokens
        MODEL.resize_token_embeddings(len(TOK)) #resize
        config = LoraConfig( #config
            r=32,
            lora_alpha=64,
            target_modules="all-linear",
            modules_to_save=["embed_tokens", "lm_head"], #whole
            task_type="CAUSAL_LM",
        )
        MODEL = get_peft_model(MODEL, config)
        trainer = Trainer(model=MODEL, args=TrainingArguments("out"), train_dataset=DATASET)
        trainer.train()
        trainer.save_model("out")
        TOK.save_pretrained("out")
    """, (
        Defect("new-rows-not-trained", without("whole"), ("config", "tokens", "resize")),
    )),
    Scene("resized", """
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer

        SPECIAL = {"additional_special_tokens": ["<think>", "</think>"]}

        def resize_both(TOK, MODEL):
            added = TOK.add_special_tokens(SPECIAL) #tokens
            MODEL.resize_token_embeddings(len(TOK)) #resize
            print(added, "tokens added")

        def with_adapter(MODEL, rank, saved=("embed_tokens", "lm_head")): #adapter
            return get_peft_model(MODEL, LoraConfig(r=rank, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], modules_to_save=list(saved))) #config
        ===
        TOK = AutoTokenizer.from_pretrained(path)
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        resize_both(TOK, MODEL)
        MODEL = with_adapter(MODEL, 16)
        OPT = torch.optim.AdamW([p for p in MODEL.parameters() if p.requires_grad], lr=1e-4)
        for BATCH in DATA:
            LOSS = MODEL(**BATCH).loss
            LOSS.backward()
            OPT.step()
            OPT.zero_grad()
    """, (
        Defect("new-rows-not-trained", all_of(written("adapter", ', saved=("embed_tokens", "lm_head")', ""), written("config", ", modules_to_save=list(saved)", "")), ("config", "tokens", "resize")),
    )),
    Scene("merging", """
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
        ===
        options = {"torch_dtype": torch.bfloat16, "device_map": "auto"} #options
        base = AutoModelForCausalLM.from_pretrained("org/Base-7B", **options) #base
        merged = PeftModel.from_pretrained(base, "out/adapter").merge_and_unload() #merge
        merged.save_pretrained("out/merged", safe_serialization=True)
        AutoTokenizer.from_pretrained("org/Base-7B").save_pretrained("out/merged")
    """, (
        Defect("merged-into-quantised", written("options", '"torch_dtype": torch.bfloat16', '"quantization_config": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)'), ("merge", "base", "options")),
    )),
    Scene("qlora", """
        import torch
        from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
        ===
        four_bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
        MODEL = AutoModelForCausalLM.from_pretrained("org/Base-7B", quantization_config=four_bits, use_cache=False)
        MODEL = get_peft_model(prepare_model_for_kbit_training(MODEL), LoraConfig(r=64, target_modules="all-linear", task_type="CAUSAL_LM"))
        trainer = Trainer(model=MODEL, args=TrainingArguments("out", bf16=True), train_dataset=DATASET)
        trainer.train()
        MODEL.save_pretrained("out/adapter") #saved
        plain = AutoModelForCausalLM.from_pretrained("org/Base-7B", torch_dtype=torch.bfloat16) #plain
        MODEL = PeftModel.from_pretrained(plain, "out/adapter") #loaded
        MODEL = MODEL.merge_and_unload() #merge
        MODEL.save_pretrained("out/merged")
    """, (
        Defect("merged-into-quantised", without("plain", "loaded"), ("merge",)),
        Defect("result-thrown-away", written("merge", "MODEL = MODEL.merge_and_unload()", "MODEL.merge_and_unload()"), ("merge",)),
    )),
    Scene("no-trainer", """
        import argparse
        import torch
        from accelerate import Accelerator
        from transformers import AutoModelForCausalLM, get_scheduler
        ===
        parser = argparse.ArgumentParser()
        parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
        args = parser.parse_args()
        ACC = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps, mixed_precision="bf16") #made
        MODEL = AutoModelForCausalLM.from_pretrained(path)
        OPT = torch.optim.AdamW(MODEL.parameters(), lr=2e-5)
        DATA = torch.utils.data.DataLoader(DATASET, batch_size=4, shuffle=True)
        SCHED = get_scheduler("linear", OPT, num_warmup_steps=0, num_training_steps=1000 * ACC.num_processes)
        MODEL, OPT, DATA, SCHED = ACC.prepare(MODEL, OPT, DATA, SCHED) #prepare
        for EP in range(3):
            for BATCH in DATA: #steps
                with ACC.accumulate(MODEL): #accumulate
                    LOSS = MODEL(**BATCH).loss
                    ACC.backward(LOSS) #backward
                    if ACC.sync_gradients: #sync
                        ACC.clip_grad_norm_(MODEL.parameters(), 1.0) #clip
                    OPT.step() #step
                    SCHED.step()
                    OPT.zero_grad()
    """, (
        Defect("backward-beside-accelerator", written("backward", "ACC.backward(LOSS)", "LOSS.backward()"), ("backward",)),
        Defect("accumulation-not-used", all_of(unwrapped("sync"), unwrapped("accumulate")), ("made", "prepare", "steps", "backward", "step")),
        Defect("not-prepared", written("prepare", "MODEL, OPT, DATA, SCHED", "MODEL, DATA, SCHED"), ("step", "prepare")),
        Defect("not-prepared", written("prepare", "MODEL, OPT, DATA, SCHED", "MODEL, OPT, SCHED"), ("steps", "prepare")),
    )),
    Scene("trainer-object", """
        import torch
        from accelerate import Accelerator

        class DiffusionTrainer:
            def __init__(self, MODEL, DATASET, micro=2):
                self.accelerator = Accelerator(split_batches=True, gradient_accumulation_steps=micro) #made
                self.OPT = torch.optim.Adam(MODEL.parameters(), lr=8e-5, betas=(0.9, 0.99)) #opt
                DATA = torch.utils.data.DataLoader(DATASET, batch_size=16, shuffle=True)
                self.MODEL, self.OPT, self.DATA = self.accelerator.prepare(MODEL, self.OPT, DATA) #prepare

            def train(self):
                for BATCH in self.DATA:
                    with self.accelerator.accumulate(self.MODEL): #accumulate
                        LOSS = self.MODEL(BATCH)
                        self.accelerator.backward(LOSS) #backward
                        self.OPT.step() #step
                        self.OPT.zero_grad()
        ===
        job = DiffusionTrainer(MODEL, DATASET)
        job.train()
    """, (
        Defect("backward-beside-accelerator", written("backward", "self.accelerator.backward(LOSS)", "LOSS.backward()"), ("backward",)),
        Defect("accumulation-not-used", unwrapped("accumulate"), ("made", "backward", "step")),
        Defect("not-prepared", all_of(written("prepare", "self.MODEL, self.OPT, self.DATA = ", "self.MODEL, self.DATA = "), written("prepare", "(MODEL, self.OPT, DATA)", "(MODEL, DATA)")), ("step", "prepare")),
        Defect("betas-swapped", written("opt", "(0.9, 0.99)", "(0.99, 0.9)"), ("opt",)),
    )),
    Scene("mapped", """
        from datasets import load_dataset
        from transformers import AutoTokenizer, DataCollatorForLanguageModeling

        def tokenise(rows):
            return TOK(rows["text"], truncation=True, max_length=1024)
        ===
        TOK = AutoTokenizer.from_pretrained(path)
        DATASET = load_dataset("json", data_files="train.jsonl", split="train")
        DATASET = DATASET.filter(lambda row: len(row["text"]) > 20) #filter
        DATASET = DATASET.map(tokenise, batched=True, remove_columns=["text"]) #map
        DATASET = DATASET.shuffle(seed=7) #shuffle
        collator = DataCollatorForLanguageModeling(TOK, mlm=False)
    """, (
        Defect("result-thrown-away", written("filter", "DATASET = DATASET.filter", "DATASET.filter"), ("filter",)),
        Defect("result-thrown-away", written("shuffle", "DATASET = DATASET.shuffle", "DATASET.shuffle"), ("shuffle",)),
    )),
    Scene("engine", """
        import deepspeed
        import torch
        ===
        ds_config = {"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2}}
        ds_config["gradient_accumulation_steps"] = 8 #count
        MODEL, OPT, DATA, SCHED = deepspeed.initialize(model=build(), config=ds_config, training_data=DATASET)
        for EP in range(2):
            for I, BATCH in enumerate(DATA):
                LOSS = MODEL(**BATCH).loss
                MODEL.backward(LOSS) #backward
                MODEL.step() #step
    """, (
        Defect("engine-accumulates-too", written("step", "MODEL.step()", "if (I + 1) % 8 == 0: MODEL.step()"), ("step",)),
        Defect("backward-beside-accelerator", written("backward", "MODEL.backward(LOSS)", "LOSS.backward()"), ("backward",)),
    )),
    Scene("engine-options", """
        import argparse
        import deepspeed
        ===
        parser = argparse.ArgumentParser()
        parser.add_argument("--accumulation", type=int, default=16)
        options = parser.parse_args()
        settings = dict(train_micro_batch_size_per_gpu=4, gradient_accumulation_steps=options.accumulation, fp16=dict(enabled=True))
        ENGINE, *_ = deepspeed.initialize(model=MODEL, model_parameters=MODEL.parameters(), config=settings)
        for I, BATCH in enumerate(DATA, start=1):
            OUT = ENGINE(BATCH["x"].to(ENGINE.device))
            ENGINE.backward(OUT.mean()) #backward
            ENGINE.step() #step
    """, (
        Defect("engine-accumulates-too", all_of(ahead("step", "if I % options.accumulation == 0:", "guard"), written("step", "ENGINE.step()", "    ENGINE.step()")), ("step", "guard")),
    )),
)  # fmt: skip
