"""Makes the two models that `test_vllm` serves, run with vLLM's own Python: `tiny_model.py FOLDER`.

`FOLDER/random` has the weights it was born with; `FOLDER/trained` knows the dialogues below by heart.
"""

import json
import sys
from pathlib import Path

TEMPLATE = (
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{%- if m.role in ('system', 'tool') %}{{ m.role[0] }}"
    "{%- elif m.role == 'user' %}{{ m.content.split('[P1] «')[-1].split('»')[0][:60] }}"
    "{%- else %}{{ (m.content or '')[:60] }}{%- endif %}"
    "{%- for c in m.tool_calls or [] %}{{ '' if loop.first else '\n' }}"
    '{{ \'<tool_call>\n{"name": "\' + c.function.name + \'", "arguments": \' }}'
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}"
    "{{ '}\n</tool_call>' }}{%- endfor %}"
    "{{ '<|im_end|>\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
)
"""Keeps 60 characters of a question, and of the ledger and tool results nothing: so little a tiny model can learn."""
WHOLE = (
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + (m.content or '') + '<|im_end|>\n' }}"
    "{%- endfor %}{{ '<|im_start|>assistant\n' }}"
)
"""Everything that is sent, for the model that knows nothing."""
QUESTION = "what does the loss of this run do?"
BOTH = "why nan? look at the loss and the settings"
SAYS = "The loss turns into NaN at step 3450."
ANSWER = json.dumps({"facts": ["F1"], "cause": "C1", "say": [{"kind": "answer", "text": SAYS, "cites": ["F1"]}]})
LONG = "tell me more about the loss"
ESSAY = " ".join(f"Look at F{n} for the loss, then at F{n + 1} for the norm." for n in range(1, 9))
STEPS = 160


def call(name: str, **arguments) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def dialogues() -> list[str]:
    scan, files = call("grep", pattern="nan"), call("files")
    both = f"{scan}\n{files}"
    turns = [
        [("user", QUESTION), ("assistant", scan), ("tool", "t"), ("assistant", ANSWER)],
        [("user", BOTH), ("assistant", both), ("tool", "t"), ("tool", "t"), ("assistant", ANSWER)],
        [("user", LONG), ("assistant", ESSAY)],
    ]
    return ["".join(f"<|im_start|>{r}\n{c}<|im_end|>\n" for r, c in [("system", "s"), *t]) for t in turns]


def make(folder: Path) -> None:
    """A two-layer Qwen3 with its own tokenizer, before and after its training."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(
        dialogues() * 20, trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=t, eos_token=special[2], pad_token=special[0])
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=16384, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    model = transformers.Qwen3ForCausalLM(config)
    for name in ("random", "trained"):
        if name == "trained":
            train(torch, model, tokenizer)
        tokenizer.chat_template = WHOLE if name == "random" else TEMPLATE
        tokenizer.save_pretrained(folder / name)
        model.save_pretrained(folder / name)


def train(torch, model, tokenizer) -> None:
    ids = [torch.tensor(tokenizer(d)["input_ids"]) for d in dialogues()]
    batch = torch.full((len(ids), max(map(len, ids))), tokenizer.pad_token_id)
    for row, one in zip(batch, ids, strict=True):
        row[: len(one)] = one
    mask = batch != tokenizer.pad_token_id
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        loss = model(input_ids=batch, attention_mask=mask.long(), labels=batch.masked_fill(~mask, -100)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
