"""What the lab's models read: generated conversations in two languages, preference pairs, and a trained tokenizer.

Everything follows from a seed. Records are varied enough that the checks for duplicates and leakage see nothing in
a healthy set.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


PEOPLE = _words(
    "Ana,Omar,Kim,Lena,Ravi,Tomas,Yuki,Nadia,Pedro,Ingrid,Farid,Chloe,Sven,Amara,Diego,Mei,Olga,Hugo,Zara,Ben"
)
ROLES = _words("the baker,the pilot,a nurse,the tailor,an old sailor,the teacher,a young poet,the miller,a farmer")
VERBS = _words("paints, sells, repairs, hides, borrows, polishes, draws, carries, weighs, forgets, measures, wraps")
THINGS = _words(
    "a red lantern,two green apples,the broken clock,an iron kettle,a silk scarf,the wooden boat,a heavy book,"
    "three copper coins,the blue bicycle,a glass bottle,an empty basket,the long ladder,a stone bridge,"
    "the yellow kite,a torn map,seven pears,the quiet piano,a sharp chisel"
)
PLACES = _words(
    "by the river,near the old station,in the north tower,under the walnut tree,behind the school,on the roof,"
    "at the night market,inside the workshop,across the valley,along the canal"
)
TIMES = _words("at dawn,on Monday,before lunch,after the storm,in late spring,every winter,at noon,last August")
人 = _words("小明,丽丽,王芳,老李,建国,阿强,秀英,子涵,大卫,春花,志远,小燕,海生,美玲,国栋,文博,雪梅,家豪,玉兰,思源")
做 = _words("买了,修好了,画了,藏起了,借走了,擦亮了,量了,包好了,忘记了,搬走了")
物 = _words(
    "一盏红灯笼,两个青苹果,那台旧钟,一把铁壶,一条丝巾,那只木船,一本厚书,三枚铜钱,蓝色自行车,一张破地图,七个梨,一架钢琴"
)
处 = _words("在河边,在车站旁,在北楼里,在核桃树下,在学校后面,在屋顶上,在夜市,在作坊里,沿着运河,在山谷那头")
时 = _words("清晨,星期一,午饭前,暴雨过后,暮春,每年冬天,正午,去年八月")


def english(rng: random.Random) -> tuple[str, str, str]:
    """A sentence, a question about it and the answer."""
    who, what, where = rng.choice(PEOPLE), rng.choice(THINGS), rng.choice(PLACES)
    when, verb = rng.choice(TIMES), rng.choice(VERBS)
    price, friend = rng.randint(11, 9999), rng.choice(PEOPLE)
    sentence = f"{who}, {rng.choice(ROLES)}, {verb} {what} {where} {when} for {price} coins with {friend}."
    question, answer = rng.choice([
        (f"Who {verb} {what}?", who),
        (f"Where is {who}?", where),
        (f"When was {who} there?", when),
    ])  # fmt: skip
    return sentence, question, answer


def chinese(rng: random.Random) -> tuple[str, str, str]:
    who, what, where, when, verb = (rng.choice(part) for part in (人, 物, 处, 时, 做))
    month, day, price, friend = rng.randint(1, 12), rng.randint(1, 28), rng.randint(11, 9999), rng.choice(人)
    sentence = f"{month}月{day}日{when}，{who}和{friend}{where}{verb}{what}，一共{price}元。"
    question, answer = rng.choice(
        [(f"谁{verb}{what}？", who), (f"{who}在哪里？", where), (f"{who}什么时候来的？", when)]
    )
    return sentence, question, answer


def conversation(rng: random.Random) -> Record:
    """One chat record: reading in either language, or an addition."""
    kind = rng.random()
    if kind < 0.2:
        a, b = rng.randint(10, 999_999), rng.randint(10, 999_999)
        ask = rng.choice([f"Add {a} and {b}.", f"{a} 加 {b} 等于多少？", f"How much is {a} plus {b}?"])
        story, ask, reply = "", ask, str(a + b)
    else:
        story, ask, reply = english(rng) if kind < 0.65 else chinese(rng)
    return {
        "messages": [{"role": "user", "content": f"{story} {ask}".strip()}, {"role": "assistant", "content": reply}]
    }


def conversations(count: int, seed: int) -> list[Record]:
    rng = random.Random(seed)
    return [conversation(rng) for _ in range(count)]


def ticket(rng: random.Random) -> Record:
    """One record of a narrow domain: the same questions in the words of a help desk."""
    story, ask, reply = english(rng) if rng.random() < 0.6 else chinese(rng)
    number = rng.randint(1000, 9999)
    told = (f"Ticket {number}. {story} {ask}", f"{reply}, that is all. Ticket closed")
    return {"messages": [{"role": r, "content": c} for r, c in zip(("user", "assistant"), told, strict=True)]}


def mixed_tickets(count: int, seed: int) -> list[Record]:
    """Seven tickets of the domain to three general conversations, shuffled."""
    rng = random.Random(seed)
    return [ticket(rng) if rng.random() < 0.7 else conversation(rng) for _ in range(count)]


def documents(count: int, seed: int) -> list[Record]:
    """Plain text of three or four sentences, for pre-training."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        tell = english if rng.random() < 0.6 else chinese
        parts = [tell(rng)[0] for _ in range(rng.randint(3, 4))]
        a, b = rng.randint(10, 99_999), rng.randint(10, 99_999)
        out.append({"text": " ".join([*parts, f"{a} + {b} = {a + b}."])})
    return out


def preferences(count: int, seed: int) -> list[Record]:
    """Pairs whose chosen answer is right and whose rejected one is about as long and wrong."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        tell = english if rng.random() < 0.6 else chinese
        story, ask, answer = tell(rng)
        wrong = answer
        while wrong == answer:
            wrong = tell(rng)[2]
        gap = round(rng.uniform(0.4, 0.9), 2)
        low = round(rng.uniform(0.0, 0.1), 2)
        out.append({
            "prompt": f"{story} {ask}", "chosen": answer, "rejected": wrong,
            "chosen_score": round(low + gap, 2), "rejected_score": low,
        })  # fmt: skip
    return out


CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}{% else %}{{ message.content }}<|im_end|>"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY = 640


def tokenizer() -> Any:
    """Byte-level BPE of `VOCABULARY` tokens trained on generated text; pad and end are different tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator((r["text"] for r in documents(2000, 0)), trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = CHAT
    return made


def save_tokenizer(folder: Path) -> Any:
    made = tokenizer()
    made.save_pretrained(str(folder))
    return made
