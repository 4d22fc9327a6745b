"""Whether a message is in neither English nor Chinese: those two are what is understood and answered here.

Told by scripts and by small words. A foreign word or a quoted line inside an English or Chinese sentence is no third
language, and neither is a Greek letter of a formula. It does not say which language it is.
"""

from __future__ import annotations

import re

from ...tools.phrase import Phrase

PLEASE = Phrase(
    "English or Chinese, please: nothing was looked at.\n请用英文或中文提问：没有做任何检查。",
    "请用英文或中文提问：没有做任何检查。\nEnglish or Chinese, please: nothing was looked at.",
)
UNSAID = Phrase(
    "English or Chinese, please (请用英文或中文提问): the question was not understood; this is what the run shows.",
    "请用英文或中文提问（English or Chinese, please）：问题没有读懂，以下只是运行本身显示的情况。",
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]+")
_OTHER = re.compile(r"[\uac00-\ud7af\u0e00-\u0e7f\u0900-\u0dff]+|[\u0370-\u03ff]{3,}|[\u0400-\u06ff]{2,}")
"""Hangul, Thai, the scripts of India; Greek words; Cyrillic, Armenian, Hebrew, Arabic."""
_ENGLISH = re.compile(
    r"\b(?:the|a|an|is|are|was|were|be|been|do|does|did|it|its|this|that|these|my|our|your|i|we|you|they|what|why|when|where|how|which|who|and"
    r"|or|but|if|not|no|of|to|in|on|at|by|for|from|with|after|before|as|so|can|could|should|would|will|has|have|had|there|any|all)\b",
    re.IGNORECASE,
)
_SMALL = tuple(
    frozenset(words.split())
    for words in (
        "der das ist warum mein meine nicht und mit ein eine nach beim wird wieso kann ich wir den dem auf für",
        "le les est pourquoi mon ma mes une des dans avec que pas je qui sur après mais du au il cette comment",
        "el la los las es está por qué porque cómo mi mis un una del con se que para pero después cuando en",
        "os é está por porque meu minha um uma não com do da na depois quando mas o que em",
        "il lo gli è perché mio mia un una non con del della dopo quando che di ma si sono",
        "het een waarom mijn niet met van maar wat wordt hoe ik wij naar zijn",
        "tại sao của không là một và mô hình bị khi tôi được trong",
        "neden bu bir ve için değil benim nasıl çok ama niye oldu",
        "dlaczego jest nie się moje moja przy jak czy ale został mój po na",
        "kenapa mengapa saya yang tidak dan adalah pada bagaimana setelah ini itu",
    )
)
"""Small words of other languages in Latin letters that English sentences do not hold."""
LEAST = 2
"""Different small words of one language that a message in it has."""


def third(own: str) -> bool:
    """Whether a person's own words are in a language that is not read here."""
    words = set(re.findall(r"[^\W\d_]+", own.lower()))
    english, han = len(set(_ENGLISH.findall(own.lower()))), len(_HAN.findall(own))
    kana, other = _KANA.findall(own), _OTHER.findall(own)
    if kana and english < len(kana):
        return len(kana) > 1 or not han
    if other:
        return len(other) > english and not han
    return not han and any(len(found) >= LEAST and len(found) > english for found in (words & s for s in _SMALL))
