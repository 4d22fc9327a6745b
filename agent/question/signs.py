"""Signs in a clause that somebody will act, has acted, will not, or only says how things are, in two languages.

How they are weighed is decided in `plans`; verbs are in `actions`, names of settings in `named`.
"""

from __future__ import annotations

import re

from ...tools.patterns import bounded
from .actions import STEMS

ALONE = (
    ("library", bounded("upgrad|downgrad|pin|install|升级|降级|重装", re.IGNORECASE)),
    ("checkpoint", bounded("roll|rewind|back|回滚|回退|退回", re.IGNORECASE)),
    ("run", bounded("")),
)
"""What a verb of doing acts on where it has no object."""

TOPICS = {
    "run": "checkpoint",
    "library": "library-version",
    "code": "code-change",
    "reward": "reward-model",
    "num_generations": "batch-size",
    "global_batch_size": "batch-size",
}
"""What a variable that is no setting of an entry belongs to."""

INTENT = bounded(
    r"\b(?:should|shall|can|could|may|might|must|needs?|ought|will|would|gonna|going to|about to|wanna|want|gotta"
    r"|plan\w*"
    r"|intend\w*|thinking|tempted|consider\w*|propos\w+|suggest\w*|prefer|rather|better|ready|let'?s|let me|lemme"
    r"|(?:i|we|you|they)['’]?(?:ll|d|m|re)|what if|how about|what about|why not|why don'?t|ok|okay|safe|fine|worth"
    r"|help"
    r"|just|simply|fix|next|tonight|tomorrow|now|try\w*|before i|instead|please|pls|idea|objections?|downsides?"
    r"|risks?|harm|vote|favou?r|unless|sense"
    r"|enough"
    r"|harmless|thoughts|wise|smart|dumb|stupid|wrong to|enough to|time to)\b|\?"
    r"|打算|准备|想(?!不|起|问)|要(?!是|么|不然)|能不能|可以|行[吗不么]|好[吗么]"
    r"|直接|干脆|应该|需要|[该得]不?该?|试|不如|先|就|把|将"
    r"|为什么不|怎么不|计划|考虑|必要|有用|会好|一下|吧|算了|今晚|明天|下一?[轮次步]|[吗么？]|省得|免得|看看|再",
    re.IGNORECASE,
)
PAST = bounded(
    r"\b(?:already|yesterday|last (?:night|week|run|time|month)|ago|(?:after|when|since|once|because) (?:i|we|they"
    r"|he"
    r"|she|someone)|who(?:ever)?(?= \w{1,12}ed)|(?:i|we)(?:'ve| have| had) (?:just |already |now )?|did(?:n'?t)?"
    r"|used to|never|someone|somebody"
    r"|(?:after|since|despite|upon|even)(?= \w{1,12}ing))\b"
    r"|已经|早就|早已|昨天|刚|之前(?!的)|上次|试过|过了|改完|调完|换完|没有?用",
    re.IGNORECASE,
)
"""What stands in a part that tells what was done."""
DENIED = bounded(
    r"(?:\b(?:don'?t|do not|won'?t|wouldn'?t|never|not|no|without|instead of|rather than"
    r"|not (?:going|planning|about|gonna) to|refuse to|cannot|can'?t"
    r"|doesn'?t|didn'?t|isn'?t|fails? to|seems? to|starts? to|tends? to|keeps?|it|which|that)\s+(?:\w{1,12} )?"
    r"|(?<![要能可何否会])(?:别|不要?|没有?|不会|无需|不用|不想|不打算|不能|不准|勿|一)\s*(?:再|去|先|想)?)$",
    re.IGNORECASE,
)
"""What right before a verb means that nobody will act."""
WHY_NOT = bounded(
    r"\bwhy (?:not|don'?t|can'?t)|\bcan'?t (?:i|we)|\bunless|\breasons? not|为什么|为啥|干嘛|怎么|何不|要不|能不|可不",
    re.IGNORECASE,
)
NOUN = bounded(
    r"\b(?:the|a|an|my|our|your|their|this|that|each|every|on|after|at|upon|since|in|during|no|last|first|any|of"
    r"|from)\s+"
    r"(?:[\w-]{1,20} ){0,3}$|\b(?:is|are|was|were|be|been|looks?|seems?|(?<!let)'s|all)\s+(?:\w{1,12}ly )?$",
    re.IGNORECASE,
)
"""What right before a verb makes it a noun."""
NOUNS = bounded(
    r"resume|restart|re-?run|update|upgrade|patch|merge|reset|drop|cut|bump|increase|decrease|change|fix|stop|use"
    r"|set"
    r"|switch|kill|boost|try|revert|retry|swap|replay|ship|push up|scale up|move to|triple|clean|clip|half"
    r"|limit|cap|clamp|ramp|back off|test|curb",
    re.IGNORECASE,
)
INVARIANT = bounded(r"set|cut|put in|reset|cut down", re.IGNORECASE)
DONE = bounded(r"(?!算了)[多少大小高低好完掉到]?[了过]|[^，。？?]{0,4}(?:[跑训做]完|结束|完成)了")
"""What follows a Chinese verb that tells what was done."""
IT, DONE_TO = bounded(r"\s*(?:it|that|this|them)\b", re.IGNORECASE), ("code", "library", "hardware", "checkpoint")
"""What can be reverted, restarted or updated by the name of "it"."""
SIEVE = bounded(r"filter|de-?dup|clean|weed|过?滤|清洗|去重|洗|筛", re.IGNORECASE)
"""Verbs that act on data where nothing else is named."""
OFF, ON = ("false", "off", "0", "none"), ("true", "on", "1")
EXCLUDES = bounded(r"exclud", re.IGNORECASE)
"""What is done to causes too: only of these things it is a plan."""
EXCLUDED = ("data", "hardware", "freeze")
BLAMING = bounded(r"\s?(?:blam|point|say|talk|accus|suspect|tell|insist)ing\b|\s?[怪说扯赖]", re.IGNORECASE)
"""What one can stop doing to a cause without touching it."""
MENDS = bounded(r"fix|mak(?:e|ing)|chang", re.IGNORECASE)
"""What is done to the failure itself: "fix it"."""
OFFERED = bounded(r"(?:what|how) about", re.IGNORECASE)
ASKED_ABOUT = (
    "data",
    "checkpoint",
    "code",
    "hardware",
    "library",
    "evaluation",
    "reward",
    "tokenizer",
    "chat_template",
)
ASKED_ABOUT += ("optimizer", "learning_rate", "global_batch_size", "micro_batch_size", "sequence_length")
"""What is rather suspected than tried where only its name is asked about."""
LATER = bounded(r"\S{0,8}?(?:之后|以后|后|的?时[候侯]?)(?!面|续|端)")
HABIT = bounded(r"(?:train|run|start|launch|load|cast|use)\b.{0,12}", re.IGNORECASE)
"""What somebody does all the time."""
ADVISED = bounded(
    r"\b(?:told|tells|asked|asks|advised?s?|suggest(?:s|ed)|wants?|recommend(?:s|ed)|says?|said)\b|[让叫劝]我|建议",
    re.IGNORECASE,
)
REFUSED = bounded(
    r"\b(?:i|we) (?:really |just )?(?:don'?t (?:want|think)|won'?t|refuse|said no"
    r"|disagree)\b|我(?:可|就|才)?(?:不想|不打算|不会|不同意|没同意|不干)",
    re.IGNORECASE,
)
"""Advice, and that it is not followed."""
IN_E = frozenset(stem for stems in STEMS.values() for stem in re.split(r"[ _]", stems) if stem.endswith("e"))
SUPPOSED = bounded(r"\b(if (?:i|we) (?:just |simply |only )?)([a-z]{2,12}?)([bdgmnpt]?)(e?)d\b", re.IGNORECASE)
IRREGULAR = dict(
    pair.split("/")
    for pair in ["got/get", "took/take", "went/go", "ran/run", "threw/throw", "gave/give", "made/make", "froze/freeze"]
)
SUPPOSED_IRREGULAR = bounded(
    rf"\b(if (?:i|we|you|they) (?:just |simply |only )?)({'|'.join(IRREGULAR)})\b", re.IGNORECASE
)
TURNED_OUT = bounded(
    r"[错坏崩炸]|反了|的?(?:惹|害|闹|导致|引起|造成|引发|弄坏|背锅|锅|祸|问题|毛病)|得?太|不下|(?:之?后)?[就也都才](?![行可完好算能]|不?会好)"
)
"""What follows a Chinese verb that tells how it went."""
IS_SO = bounded(r"[不有是错没都跟和的对]")
"""What follows a setting that is spoken of, not set."""
BY_ITSELF = bounded(r"(?:一路|一直|不断|持续|自动|逐渐|慢慢|突然|越来越|始终|每次都?|总是?)(?:在|会|被|往|地)?$")
"""What stands before what nobody did."""
OUTCOME = bounded(
    r"\b(?:did|didn'?t|made|makes|changed|changes|has|had|helped|fixed|broke|doesn'?t|gave)\b", re.IGNORECASE
)
"""What tells how something went that was tried."""
RUNNING = bounded(r"(?:running|training|serving|loading|using) ?", re.IGNORECASE)
BEING = bounded(
    r"\b(?:are|is|am|was|were|been|\w{1,5}'(?:re|m|s|ve))\s+(?:currently |now |all |still )?$", re.IGNORECASE
)
"""What is so now."""
MOVES = bounded(r"go(?:es|ing) (?:back )?(?:up|down)", re.IGNORECASE)
"""What measures do by themselves; a plan only with a value."""
SUBJECT = bounded(r"\b(?:i|we|he|she|they|you|someone|\w{1,20}ing)\s+(?:just |also |only |had )?$", re.IGNORECASE)
"""Whom a verb without a past form follows when it tells what was done."""
IMMINENT = bounded(
    r"^(?:那|要不|就|先|干脆)?[把将](?!.*(?:还是|没用|结果|之后|后[，,]?))|要|准备"
    r"|打算|想|把.{1,20}(?:吧|吗|行|可以|算)|先|直接|干脆|吧|不就|试|看|[吗？?]"
)
AND = bounded(
    r"\s*[&+]\s+|\s+(?:and(?: then| also)?|then|plus|while|or|but)\s+|(?=再(?!说|看)|然后|并且|并(?!行|发)|同时|顺便"
    r"|接着(?!训|跑))"
    r"|(?<=吧)(?=\S)",
    re.IGNORECASE,
)
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
WORDS = r"b?f(?:loat|p)?(?:16|32|8)|true|false|none|sdpa|eager|adamw?|sgd|step[- ]?\d+k?"
TO = bounded(
    rf"(?:\b(?:to|at|with|by|of|from scratch with)\s+|=\s*|->\s*|→\s*|到|成|为|用|回|至)\s*(?:about |around )?"
    rf"(?P<value>~?{NUMBER}(?:\.\d+)?\s?[%kKxXMB]?|{WORDS})(?![\w.]*\d)",
    re.IGNORECASE,
)
THERE = bounded(rf"\s?(?P<value>~?{NUMBER}\s?[%kKxXMB]?|{WORDS})", re.IGNORECASE)
BARE = bounded(rf"(?<![\w.-])({NUMBER}[%xXk]?|bf16|fp16|fp32)(?![\w.])", re.IGNORECASE)
SHIFT = bounded(
    rf"^[\s:]*(?:from {NUMBER} )?(?P<way>be|goes|going|back|should be|up|down|go|gets|is|从\s?{NUMBER}\s?|直接"
    rf"|先|就)?\s?"
    r"(?P<more>up|down|back)?\s?"
    rf"(?:to\s|(?<=be )|=|->|→|降到|将到|掉到|到|改成|设成|改为|成|调成|弄成|搞成|给到)\s*"
    rf"(?P<value>~?{NUMBER}[kKxX%]?|{WORDS})(?![\d.]*\s?了)",
    re.IGNORECASE,
)
"""What follows a variable that goes to a value without any verb: "temperature to 0.7"."""
WISH = bounded(
    rf"\b(?:(?:want|have|like|keep|put|get) it (?:at|to|be|around)|^want) (?P<value>{NUMBER}|{WORDS})",
    re.IGNORECASE,
)
"""A value that "it" shall have."""
NO_OBJECT = bounded(
    r"\s*(?:$|[^\w\s]|\d|[\u3400-\u9fff]|(?:it|them|that|this|those|these|both|over|again|from|with|without|now"
    r"|tonight|today|tomorrow|and|at|to"
    r"|by|in|for|a bit|entirely|everything|overnight|as is|for|too|if|unless|until"
    r"|asap|then|or|first|right|anyway|once|back|the next)\b)",
    re.IGNORECASE,
)
"""What follows a verb whose object is left out or a pronoun."""
FROM_STEP = bounded(r"\bfrom (?:step )?\d|从.{0,6}(?:步|ckpt|万|k(?![a-z]))", re.IGNORECASE)
FRONTED = bounded(r"\b(?:worth|is|be|what|should|could|needs?|gets?)\b")
"""What stands between an object and the verb after it."""
WHEN = bounded(r"[^，。,.]{0,14}?(?:之后|以后)")
"""What follows a verb that only says since when something is so."""
NO_ACTS = tuple(
    (bounded(said, re.IGNORECASE), bounded(then, re.IGNORECASE))
    for said, then in (
        ("test", r"\s(?:questions?|sets?|items?|data|docs?|documents|split|examples?|prompts?)\b"),
        (r"de-?dup\w*|filter|clean", r"\s(?:reports?|logs?|stats|steps?|pass|says?)\b"),
        ("stop", r"\s(?:at|after)\s\d"),
        ("lock", r"\sfiles?\b"),
        (r"\d{1,3}x", r"\s(?:off|too|as|worse|better|slower|faster|longer|shorter)\b"),
        ("another|other|different", r"\s(?:corpus|run|model)\b"),
        ("换成?|改成?|改|换", r".{1,14}?(?:一模一样|一样|没变|照旧|照样|还是)"),
    )
)
"""Verbs, and what behind them makes them none."""
IDIOM = bounded(r"\b(?:go(?:ing)? )?back and forth\b", re.IGNORECASE)
"""What sounds like an act and is none."""
MOVED = bounded(
    r"(?<!\bi)(?<!\bwe)(?<!\byou)(?<!\bthey)\s(?:(?:goes|went|(?:has|had) gone|keeps? going|is going) (?:up|down)"
    r"|(?:drop(?:s|ped)|falls|fell|rises|rose|climb(?:s|ed)|sinks|sank|(?:in|de)creas(?:es|ed)) (?:from|to|by))\b",
    re.IGNORECASE,
)
SUPPOSES = bounded(r"\b(?:so|then|if|unless|suppose|until|once|before|i|we|you|they|should|let)\b", re.IGNORECASE)
"""What a measure does by itself is seen and planned by nobody, unless it is supposed or somebody does it."""
SINCE = bounded(r"[\s=:是为到]{0,3}[\w.]{0,12}\s?(?:之后|以后)")
"""What follows a setting that only says since when something is so."""
NOT_OF_THINGS = bounded(r"half|with no", re.IGNORECASE)
"""What is done to settings alone: "half the corpus" is an amount, "with no code change" tells what was."""
VAGUE = ("set", "enable", "do")
"""Directions that another word of the same part makes clear."""
MOVER = bounded(
    r"(?:dial|push|ramp|crank|bring|take|knock|scale|turn|move|nudge|jack|ease|wind|bump|put|get|flip|switch|toggle"
    r"|shut|leave|re-?run|run|train|try|send|dropp?|cut|throw|kick)(?:ing)?\b|把|将|先|直接",
    re.IGNORECASE,
)
"""A verb at the start that says by the word behind its object where that goes."""
_KEPT = r"(?:checkpoints?|ckpts?|snapshots?|models?|weights|adapters?|versions?|runs?|steps?|iterations?|epochs?|ones?)"
CHOICE = bounded(
    r"^\W*(?:(?:so|and|but|then|ok|hm+),? )?(?:which|what(?! (?:about|if)\b))(?: of (?:the|these|those|my|our))?"
    rf"(?: [\w-]+){{0,2}}? {_KEPT}\b"
    r"|哪(?:个|一个|一?步|一?版|一?次)\s?(?:检查点|权重|模型|版本|checkpoint|ckpt|step)",
    re.IGNORECASE,
)
"""Asks which of several things to take: a choice, and no act that somebody has in mind."""
ASKED = bounded(
    r"(?:so |and |but |hm+ )?(?:is|are|was|were|did|does|do|why|when|whenever|every time"
    r"|each time|as soon as|how (?!about)|which"
    r"|where|has|have|had)\b(?! an? | it (?:ok|okay|safe|fine|worth|wise|better"
    r"|enough|reasonable|dumb|stupid|smart|sane|good|possible|time)\b| not| don"
    r"| it make| you think| we| i )|为什么(?!不)|为啥(?!不)|怎么(?!不)",
    re.IGNORECASE,
)
"""How a question about facts begins."""
TRIAL = bounded(
    r"\bget away\b|(?<!we're )(?<!are )(?<!i'm )(?<!been )\b(?:re-?run|run|train"
    r"|try|test|go|start|launch|restart|resume|redo|what if|again)(?:n?ing)?\b",
    re.IGNORECASE,
)
"""What makes a condition ("with packing off") one that is about to hold."""
GAP = re.compile(
    r"\s?(?:(?:all|right|much|way|even|a bit|that|能不能|可不可以|可以|稍微|尽量|再|也|要不要|先|都|给) ?)?"
)
ENDS = bounded(r"kill|stop|cancel|abort|terminat|停|杀|终止", re.IGNORECASE)
LESS = bounded(r"drop|trim|cut|strip", re.IGNORECASE)
AMOUNTS = bounded(
    r"learning_rate|batch|length|_len$|temperature|utilization|max_|num_|rank|alpha"
    r"|epochs|steps|(?<!sequence_)parallel|beta|timeout"
    r"|world_size|top_|zero_stage|epsilon|theta|factor"
)
"""Settings that always have an amount, so that to drop one is to lower it."""
VALUE = bounded(
    rf"\s?(?:at|of|were|was at|around|=|:|：|用|给|改|设)?\s?(?P<value>{NUMBER}[kKxX%]?|{WORDS})(?![\w.]*\d)",
    re.IGNORECASE,
)
WANTED = bounded(
    r"\b(?:want|try|trying|use|using|keep|put|run|re-?run|train|go|going|plan\w*|how about|what about|let'?s|thinking"
    r"|maybe|what if|rather|prefer|with|like)\b|[想要把试换用]|不如|打算|准备",
    re.IGNORECASE,
)
ASK_AFTER = bounded(r"\s?(?:试|怎么样|行不行|行吗|可以|如何|好不好|呢|吧|instead|maybe|then\?|next)", re.IGNORECASE)
JOINED = bounded(r"\s*(?:\bwith\b|,|/|、|和|与|跟|及|and|&|\+|plus)\s*(?:the |my |our )?", re.IGNORECASE)
AIM = bounded(r"[把将从给让对]")
BATCH = bounded(r"batch|批", re.IGNORECASE)
HAN = bounded(r"[\u3400-\u9fff]")
GIVEN = bounded(
    r"\b(?:with|at|when|if|using|under|is|was|had|have|has|in|\w{1,12}ed)\s+(?:the |our |my )?$", re.IGNORECASE
)
