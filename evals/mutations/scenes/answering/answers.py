"""Scenes of what a model writes: generation, its settings, the cut of the answer, samples, judges, pooled vectors."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, placed, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("gsm", """
        import re
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def extract_number(text):
            found = re.search(r"-?\\d+", text.replace(",", ""))
            return found.group(0) if found else None
        ===
        TOK = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1", padding_side="left")
        TOK.pad_token = TOK.eos_token
        MODEL = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", torch_dtype=torch.bfloat16).cuda().eval()
        hits = []
        for chunk in batched(problems, 16):
            enc = TOK([FEWSHOT + p["question"] for p in chunk], return_tensors="pt", padding=True).to("cuda") #encoded
            with torch.inference_mode():
                generated = MODEL.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], do_sample=False, max_new_tokens=320) #generate
            start = enc["input_ids"].shape[1] #start
            completions = TOK.batch_decode(generated[:, start:], skip_special_tokens=True) #decode
            for problem, completion in zip(chunk, completions):
                hits.append(extract_number(completion) == problem["answer"]) #judged
        print(f"exact match: {sum(hits) / len(hits):.3f}")
    """, (
        Defect("attention-mask-missing", written("generate", ' attention_mask=enc["attention_mask"],', ""), ("generate",)),
        Defect("generation-length-not-set", written("generate", ", max_new_tokens=320", ""), ("generate",)),
        Defect("prompt-kept-in-answer", all_of(without("start"), written("decode", "generated[:, start:]", "generated")), ("decode",)),
        Defect("generation-settings-without-effect", written("generate", "do_sample=False", "temperature=0.6, top_p=0.95"), ("generate",)),
        Defect("answer-cut-by-its-own-length", all_of(written("start", 'enc["input_ids"].shape[1]', 'enc["attention_mask"].sum(dim=1).tolist()'),
                                                      written("decode", "TOK.batch_decode(generated[:, start:], skip_special_tokens=True)",
                                                              "[TOK.decode(seq[n:], skip_special_tokens=True) for seq, n in zip(generated, start)]")), ("decode", "start")),
    )),
    Scene("replies", """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

        class Responder:
            def __init__(self, name):
                self.tokenizer = AutoTokenizer.from_pretrained(name)
                self.model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
                self.settings = GenerationConfig(max_new_tokens=512, do_sample=True, temperature=0.7, num_return_sequences=4) #settings

            @torch.no_grad()
            def reply(self, question):
                turns = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": question}]
                prompt = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True) #template
                enc = self.tokenizer(prompt, return_tensors="pt", add_special_tokens=False).to(self.model.device) #tokenised
                out = self.model.generate(**enc, generation_config=self.settings) #generate
                cut = enc["input_ids"].size(1)
                return [self.tokenizer.decode(o[cut:], skip_special_tokens=True) for o in out] #decode
        ===
        bot = Responder("org/base-8b")
        for question in questions:
            print(majority(bot.reply(question)))
    """, (
        Defect("several-answers-without-sampling", written("settings", "do_sample=True, temperature=0.7, ", ""), ("settings", "generate")),
        Defect("generation-settings-without-effect", written("settings", "do_sample=True, temperature=0.7, num_return_sequences=4", "temperature=0.7"), ("settings", "generate")),
        Defect("generation-prompt-missing", written("template", ", add_generation_prompt=True", ""), ("template",)),
        Defect("special-tokens-twice", written("tokenised", ", add_special_tokens=False", ""), ("tokenised",)),
        Defect("samples-are-alike", written("settings", "temperature=0.7", "temperature=0.0"), ("settings",)),
    )),
    Scene("voted", """
        import torch
        from collections import Counter
        from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
        ===
        TOK = AutoTokenizer.from_pretrained("EleutherAI/pythia-1.4b")
        MODEL = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-1.4b").eval()
        set_seed(42) #seed
        for ROW in puzzles: #rows
            enc = TOK(ROW["prompt"], return_tensors="pt")
            votes = Counter() #votes
            for _ in range(20): #draws
                seq = MODEL.generate(**enc, do_sample=True, temperature=0.8, max_new_tokens=200) #generate
                votes[final(TOK.decode(seq[0, enc["input_ids"].shape[1]:]))] += 1
            ROW["voted"] = votes.most_common(1)[0][0]
    """, (
        Defect("seed-set-before-each-sample", placed("seed", "draws", 1), ("seed",)),
        Defect("several-answers-without-sampling", written("generate", "do_sample=True, temperature=0.8, max_new_tokens=200", "max_new_tokens=200, num_return_sequences=5"), ("generate",)),
        Defect("generation-length-not-set", written("generate", ", max_new_tokens=200", ""), ("generate",)),
    )),
    Scene("passk", """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def complete(MODEL, TOK, prompt):
            enc = TOK(prompt, return_tensors="pt").to("cuda") #enc
            with torch.no_grad():
                out = MODEL.generate(**enc, do_sample=True, top_p=0.95, temperature=0.8, max_new_tokens=300) #generate
            return TOK.decode(out[0, enc["input_ids"].shape[1]:], skip_special_tokens=True)
        ===
        MODEL = AutoModelForCausalLM.from_pretrained("bigcode/starcoder2-3b").to("cuda")
        TOK = AutoTokenizer.from_pretrained("bigcode/starcoder2-3b") #tok
        torch.manual_seed(1234)
        for task in tasks:
            programs = [complete(MODEL, TOK, task["prompt"]) for _ in range(10)] #programs
            passed = sum(run_tests(task, p) for p in programs)
            print(task["task_id"], pass_at_k(10, passed, 1))
    """, (
        Defect("seed-set-before-each-sample", ahead("enc", "torch.manual_seed(1234)", "again"), ("again", "programs")),
        Defect("generation-settings-without-effect", written("generate", "do_sample=True, ", ""), ("generate",)),
        Defect("tokenizer-of-another-model", written("tok", "bigcode/starcoder2-3b", "codellama/CodeLlama-7b-hf"), ("tok",)),
    )),
    Scene("bestof", """
        from vllm import LLM, SamplingParams
        ===
        ENGINE = LLM(model="org/sft-7b", dtype="bfloat16")
        settings = dict(n=16, max_tokens=1024, temperature=1.0, top_p=0.95) #settings
        outputs = ENGINE.generate(prompts, SamplingParams(**settings)) #sampled
        for output in outputs:
            best = max(output.outputs, key=lambda o: reward_model.score(output.prompt, o.text))
            records.append({"prompt": output.prompt, "best": best.text})
    """, (
        Defect("samples-are-alike", written("settings", "temperature=1.0, top_p=0.95", "temperature=0.0"), ("settings", "sampled")),
    )),
    Scene("selfconsistency", """
        from collections import Counter
        from openai import OpenAI
        ===
        client = OpenAI()
        for ROW in questions:
            response = client.chat.completions.create( #create
                model="gpt-4o-mini",
                messages=[{"role": "user", "content": ROW["question"]}],
                n=8, #n
                temperature=0.9, #heat
            )
            answers = Counter(parse(choice.message.content) for choice in response.choices)
            ROW["prediction"] = answers.most_common(1)[0][0]
    """, (
        Defect("samples-are-alike", written("heat", "0.9", "0"), ("create", "n", "heat")),
    )),
    Scene("stepwise", """
        import torch
        from transformers import AutoModelForCausalLM

        def to_probs(scores, temperature, top_k):
            scores = scores / max(temperature, 1e-5) #scaled
            pivot = torch.topk(scores, min(top_k, scores.size(-1)))[0].select(-1, -1).unsqueeze(-1)
            scores = torch.where(scores < pivot, -float("inf"), scores)
            return torch.softmax(scores, dim=-1) #probs

        def next_token(scores, temperature, top_k=50):
            probs = to_probs(scores, temperature, top_k)
            return torch.multinomial(probs, num_samples=1) #draw
        ===
        temperature = 0.7
        MODEL = AutoModelForCausalLM.from_pretrained(path).eval()
        INPUTS, past = start_ids, None
        with torch.no_grad():
            for _ in range(128):
                result = MODEL(INPUTS[:, -1:] if past is not None else INPUTS, past_key_values=past, use_cache=True)
                past = result.past_key_values
                chosen = next_token(result.logits[:, -1], temperature)
                INPUTS = torch.cat([INPUTS, chosen], dim=1)
    """, (
        Defect("drawn-from-raw-scores", written("probs", "torch.softmax(scores, dim=-1)", "scores"), ("draw",)),
        Defect("temperature-multiplied", written("scaled", "scores / max(temperature, 1e-5)", "scores * temperature"), ("scaled",)),
    )),
    Scene("arena", """
        import random
        from openai import OpenAI

        PROMPT = "You are an impartial judge.\\n[Question]\\n{question}\\n[Assistant A]\\n{a}\\n[Assistant B]\\n{b}\\nWhich response is better? Say A, B or C for a tie." #prompt

        def verdict(client, question, a, b):
            text = PROMPT.format(question=question, a=a, b=b)
            reply = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}], temperature=0)
            return reply.choices[0].message.content.strip()[:1]
        ===
        client = OpenAI()
        wins = 0.0
        for ROW in comparisons:
            turned = random.random() < 0.5 #turned
            first, second = (ROW["ours"], ROW["theirs"]) if turned else (ROW["theirs"], ROW["ours"]) #pair
            said = verdict(client, ROW["question"], first, second)
            wins += said == ("A" if turned else "B") #won
        print("win rate", wins / len(comparisons))
    """, (
        Defect("judge-sees-one-order", all_of(without("turned"), written("pair", '(ROW["ours"], ROW["theirs"]) if turned else (ROW["theirs"], ROW["ours"])', 'ROW["ours"], ROW["theirs"]'),
                                              written("won", '("A" if turned else "B")', '"A"')), ("prompt",)),
    )),
    Scene("preferred", """
        import json
        from anthropic import Anthropic
        ===
        judge = Anthropic()
        tally = {"candidate": 0, "baseline": 0, "tie": 0}
        for ROW in rows: #rows
            outcomes = []
            for one, two in (("candidate", "baseline"), ("baseline", "candidate")): #orders
                message = f"Task: {ROW['task']}\\n\\nResponse 1:\\n{ROW[one]}\\n\\nResponse 2:\\n{ROW[two]}\\n\\nWhich response do you prefer? Reply with 1 or 2." #message
                reply = judge.messages.create(model="claude-sonnet-4-5", max_tokens=5, messages=[{"role": "user", "content": message}])
                outcomes.append(one if reply.content[0].text.strip() == "1" else two)
            tally[outcomes[0] if len(set(outcomes)) == 1 else "tie"] += 1
        json.dump(tally, open("tally.json", "w"))
    """, (
        Defect("judge-sees-one-order", all_of(ahead("orders", 'one, two = "candidate", "baseline"', "fixed"), unwrapped("orders")), ("message",)),
    )),
    Scene("embedded", """
        import torch
        import torch.nn.functional as F
        from transformers import AutoModel, AutoTokenizer

        def mean_pool(hidden, attention_mask):
            weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
            return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9) #pooled
        ===
        TOK = AutoTokenizer.from_pretrained("sentence-transformers/all-MiniLM-L6-v2")
        encoder = AutoModel.from_pretrained("sentence-transformers/all-MiniLM-L6-v2").eval()
        vectors = []
        for chunk in batched(passages, 64):
            enc = TOK(chunk, padding=True, truncation=True, max_length=256, return_tensors="pt")
            with torch.no_grad():
                hidden = encoder(enc["input_ids"], attention_mask=enc["attention_mask"]).last_hidden_state #forward
            vectors.append(F.normalize(mean_pool(hidden, enc["attention_mask"]), dim=-1)) #vectors
        index.add(torch.cat(vectors).numpy())
    """, (
        Defect("pooled-over-padding", written("pooled", "(hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)", "hidden.mean(1)"), ("pooled",)),
        Defect("pooled-over-padding", written("vectors", 'mean_pool(hidden, enc["attention_mask"])', "hidden.mean(dim=1)"), ("vectors",)),
        Defect("attention-mask-missing", written("forward", ', attention_mask=enc["attention_mask"]', ""), ("forward",)),
    )),
)  # fmt: skip
