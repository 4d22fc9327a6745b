"""Scenes of models that write inside of loops: chats that are scored, left-padded batches, rollouts; and a tagger."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, all_of, without, written
from ...scene import Scene

SCENES = (
    Scene("chatscore", """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def is_correct(said, gold):
            return gold.strip().lower() in said.strip().lower()

        def respond(model, tokenizer, question):
            ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt") #template
            with torch.inference_mode():
                out = model.generate(ids, max_new_tokens=128, do_sample=False)
            return tokenizer.decode(out[0][ids.shape[-1]:], skip_special_tokens=True) #decode
        ===
        TOK = AutoTokenizer.from_pretrained("google/gemma-2-2b-it")
        MODEL = AutoModelForCausalLM.from_pretrained("google/gemma-2-2b-it").eval()
        right = 0
        for ROW in benchmark:
            said = respond(MODEL, TOK, ROW["question"])
            right += is_correct(said, ROW["answer"])
        print("accuracy", right / len(benchmark))
    """, (
        Defect("generation-prompt-missing", written("template", ", add_generation_prompt=True", ""), ("template",)),
        Defect("prompt-kept-in-answer", written("decode", "out[0][ids.shape[-1]:]", "out[0]"), ("decode",)),
    )),
    Scene("leftpadded", """
        import json
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        ===
        TOK = AutoTokenizer.from_pretrained("facebook/opt-1.3b")
        TOK.padding_side = "left"
        MODEL = AutoModelForCausalLM.from_pretrained("facebook/opt-1.3b").eval()
        with open("predictions.jsonl", "w") as sink:
            for prompts in chunks(everything, 8):
                enc = TOK(prompts, padding=True, return_tensors="pt")
                sequences = MODEL.generate(**enc, max_new_tokens=50, do_sample=False)
                prompt_length = enc.input_ids.shape[1] #length
                for I, sequence in enumerate(sequences):
                    reply = TOK.decode(sequence[prompt_length:], skip_special_tokens=True) #decode
                    sink.write(json.dumps({"prompt": prompts[I], "reply": reply}) + "\\n")
    """, (
        Defect("answer-cut-by-its-own-length", all_of(written("length", "enc.input_ids.shape[1]", "enc.attention_mask.sum(-1)"), written("decode", "[prompt_length:]", "[prompt_length[I]:]")), ("decode", "length")),
    )),
    Scene("reinforced", """
        import torch
        from transformers import AutoModelForCausalLM

        class Trainer:
            def __init__(self, actor, reward_fn, lr):
                self.actor, self.reward_fn = actor, reward_fn
                self.optimizer = torch.optim.AdamW(actor.parameters(), lr=lr)

            def rollout(self, prompts):
                self.actor.eval() #eval
                with torch.no_grad():
                    ids = self.actor.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=48) #generate
                self.actor.train()
                return ids

            def fit(self, loader):
                self.actor.train()
                for prompts in loader:
                    ids = self.rollout(prompts)
                    logp = self.actor(ids).logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
                    loss = -(self.reward_fn(ids) * logp.sum(-1)).mean()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.zero_grad()
        ===
        actor = AutoModelForCausalLM.from_pretrained("facebook/opt-350m")
        Trainer(actor, sentiment, 1e-6).fit(DATA)
    """, (
        Defect("rollout-in-training-mode", without("eval"), ("generate",)),
    )),
    Scene("parts", """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pad_sequence

        class Batcher:
            def __init__(self, device):
                self.device = device

            def __call__(self, sentences):
                words, pos_tags = zip(*sentences)
                padded = pad_sequence(words, batch_first=True).to(self.device)
                gold = pad_sequence(pos_tags, batch_first=True, padding_value=-100).to(self.device) #gold
                return padded, gold
        ===
        criterion = nn.CrossEntropyLoss()
        batcher = Batcher("cuda")
        for EP in range(20):
            for sentences in DATA:
                padded, gold = batcher(sentences)
                LOSS = criterion(MODEL(padded).flatten(0, 1), gold.flatten())
                OPT.zero_grad()
                LOSS.backward()
                OPT.step()
    """, (
        Defect("labels-padded-with-a-class", written("gold", ", padding_value=-100", ""), ("gold",)),
    )),
)  # fmt: skip
