"""How acting is said: verbs before what they act on, words behind it ("temperature up"), and wishes ("a lower rate").

Verbs are listed by their stems; the forms of a person who is about to act are derived, past forms never. How a clause
puts a verb and what it acts on together is decided in `plans`; what can be acted on is in `named`.
"""

from __future__ import annotations

import re
from typing import Literal

from ...tools.patterns import Sought

Direction = Literal["raise", "lower", "set", "enable", "disable", "remove", "do"]

STEMS: dict[Direction, str] = {
    "raise": "double triple quadruple increase raise bump boost extend lengthen enlarge grow widen elevate hike lift "
    "max_out multiply ramp escalate amplify inflate stretch loosen relax open_up scale_up size_up",
    "lower": "halve truncate cap lower reduce decrease cut shrink shorten slash trim squash squeeze lessen minimize "
    "minimise quarter compress chop back_off_on back_off ease_off ease_up_on go_easier_on tone_down cut_back_on "
    "cut_down_on soften divide limit clamp cap restrict curb taper dampen decrement tighten pull_in scale_down",
    "enable": "enable activate freeze add use try put_in throw_in introduce apply adopt "
    "buy purchase rent include give gimme slap_on test toss_in "
    "re-enable experiment_with",
    "disable": "disable deactivate get_rid_of shut_off unfreeze do_without go_without stop_using no_longer_use "
    "turn_off switch_off",
    "remove": "remove exempt delete skip drop discard exclude blacklist clean clean_up dedup "
    "dedupe deduplicate prune wipe "
    "toss purge strip ditch axe scrap nuke rip_out weed_out filter filter_out "
    "throw_out throw_away leave_out lose cull "
    "evict quarantine chuck dump take_out yank yeet nix trash bin",
    "set": "set change switch swap move_to go_with pin fix make replace tweak tune adjust "
    "modify flip cast lock lock_in "
    "play_with mess_with experiment_on",
    "do": "restart resume rerun re-run retrain revert upgrade downgrade reboot relaunch kill stop continue rebuild "
    "reinstall retokenize re-tokenize reshuffle retry start_over start_again start_fresh update merge requeue cordon "
    "drain go_back rewind bisect reset redo let_it_run ship deploy regenerate relabel patch carry_on abort "
    "bounce restore reload fall_back pull_the_plug pick_up start_from cancel terminate resubmit rebase undo recompile",
}
"""Direction -> verbs; `_` is a space. Both the bare form and the one in -ing are meant."""
_UP = "dial jack turn push ramp crank bump bring move scale tune step wind beef pump go take nudge tick"
_DOWN = (
    "dial turn push ramp bring move scale tune step wind go take nudge tick knock "
    "cut back pull throttle drop bump crank"
)
_BACK = "dial scale cut knock throttle ease pare ratchet"
MOVED = {"raise": ((_UP, "up(?! to date)"),), "lower": ((_DOWN, "down"), (_BACK, "(?:back|off)"))}
"""Verbs that say by the word behind them where something goes."""
PARTICULAR: dict[Direction, str] = {
    "raise": r"\d{1,3}x(?=\s)|upping|up(?= (?:the|our|my)\b)|(?:train|run|do|add|go)(?:ing)? (?:it )?(?:for )?\w{1,8}"
    r" more"
    r"|go(?:ing)? (?:even )?(?:higher|bigger|longer)"
    r"(?: (?:on|with))?|goes up|crank(?:ing)?",
    "lower": r"half(?= (?:the|my|our|it)\b)|go(?:ing)? (?:even )?(?:lower|smaller|shorter)(?: (?:on"
    r"|with))?|go(?:ing|es)? (?:back )?down|(?:dial|scal|eas|par|knock|throttl)(?:e"
    r"|l?ing)?(?: \S+){1,3} back(?: to)?|back(?:ing)?(?: \S+){1,3} off",
    "enable": r"why not|how about|what about|pin(?= mem)|clip(?:ping)?(?= (?:the|our|my|grad|at|it))"
    r"|(?:turn|switch|flip|toggl)(?:e|n?p?ing)?(?: it| that| this| them)?(?: back)? on(?= |$|\W)"
    r"|turning on|(?:let'?s|lets) do(?! (?:it|this|that)\b)"
    r"|(?:put|throw|slot)(?:t?ing)?(?: \S+){1,3} in(?=\W|$)",
    "disable": r"禁[掉了]|撤(?=\s?[A-Za-z])|(?:run|train|try|go|re-?run)(?:n?ing)?(?: it| this)? without"
    r"|no more|(?:what about"
    r"|how about|with|try) no"
    r"|(?:turn|switch|flip|toggl)(?:e|n?p?ing)?(?: it| that| this| them)? off",
    "remove": r"(?:take|taking|pull|pulling|kick|kicking|throw|throwing|filter|filtering"
    r"|leave|leaving)(?: \S+){1,3} (?:out(?! of (?:it|this)\b)|away|from)",
    "set": r"go(?:ing)?(?: from| to| for|(?= b?fp?\d| zero| full| half))"
    r"|(?:mov|switch|cast|convert|port)(?:e|ing)? (?:it |everything |the model |all |this )?(?:over |back )?to"
    r"|(?:re-?run|train|run|start|launch|load|cast|comput)(?:n?e?ing|e)? (?:it "
    r"|this |everything )?(?:in|to|as|with|at|on)"
    r"(?= \S{1,30}(?: \S{1,12}){0,2})|plan(?:ning)? on|(?:put|keep|hold|have)(?:t?ing)?(?= (?:\S+ ){1,4}(?:at"
    r"|to|around) \d)",
    "do": r"roll(?:ing)?(?: \S+){0,3} ?back|keep (?:it )?(?:going|training|running)|load(?:ing)?"
    r"(?= .{0,20}(?:checkpoint"
    r"|ckpt|weights))"
    r"|pull(?:ing)? the plug|leave it running",
}
"""What no stem says."""
CHINESE: dict[Direction, str] = {
    "disable": r"(?<![无有没相])关(?:掉|闭|上|了|一下)?(?![系于键注心联])|禁用|去掉(?=.{0,6}(?:裁剪"
    r"|惩罚|KL|预热|flash|packing|打包|编译|混合))"
    r"|(?<!要)(?<!为啥)(?<!什么)(?<!怎么)(?<!干嘛)(?<!何)(?<![跟配赶比对算追])不(?:[用开加](?!说|到"
    r"|去|心|是)|上(?!下|去|来))|别[用开加上]|停用|取消|解冻|不要(?=.{1,16}[了吧行])"
    r"|去了(?=$|[吧行，,？?])|砍掉|停掉(?=.{0,3}[a-z])|拿掉|撤[掉了下]|干掉|卸掉|[拔撤]了",
    "raise": r"[拉抬拔][到大高长满]|上到(?=\s?\d)|[加提]上去|开[到大]|提高|增[大加强]"
    r"|[调加改放设][大高长多](?!小)|翻(?:了|一|个|[两二三四]|\d)?[倍番]"
    r"|加倍|延长|[加提升](?=到|至|为|成|一?点|上去|高|倍)"
    r"|[加提](?!速|示|交|前|载|了个|个|上|问|入)(?=\s?\d)|多[训跑加](?!卡)|提升"
    r"|上调|(?:往|向)上[调提拉加](?:一?调|一?点)?|再[大高长多](?=一?[点些])|升"
    r"|[搞弄][大高长多](?=一?[点些]|$|行)|拉满|提上[去来]|加强",
    "lower": r"拉低|压一压|减一减|降一降|[降压调减]下[来去]|降低|[减缩改调设压][小低短少](?!量)|减半|降(?=到|为"
    r"|一|点|至|下|成|回|个)"
    r"|缩短|砍(?:半|到|一半|一?点|一刀)?(?!掉)|压(?=到|一|下)|减到"
    r"|减|截(?:断|短|到)|下调|(?:往|向)下[调降压拉](?:一?调|一?点)?|再[小低短少](?=一?[点些])"
    r"|[搞弄][小低短少](?=一?[点些]|$|行)|调[小低]|减弱"
    r"|降(?![频级噪维])|收[紧小]|收到(?=\s?\d)|缩(?!略)|限制?[到在为]|打[一二三四五六七八九个对半]{0,3}折",
    "enable": r"(?:再|多)?买(?=.{0,5}(?:卡|机|GPU|服务器))"
    r"|开启|打开|启用|(?:为什么|为啥|怎么|干嘛|何)不(?:用|开|加|上|启用)(?!了)|^上(?!的|了|过|来|去|面"
    r"|次|一|个|周|月|升|涨|述|下)|(?<!增)加上?(?![大到倍载强速权至]|\s?\d)|用上|上(?=\s?(?:梯度"
    r"|flash|FA|ZeRO|LoRA|个|混合|激活|offload|重|packing|预热|warmup|KL|clip|bf16))"
    r"|开(?![始源发头会销到大支车得])|试试|试一[下试]|引入|使用|冻[结住上]|(?:想"
    r"|要|打算|准备|直接|先|试着|不如|可以|能不能)用|上一?个|(?<=[要先接想该能])上(?![下次周月升涨去来线面述调传])",
    "remove": r"删(?:掉|除|了)?|[过筛]?滤(?:掉)?|跳过|丢(?:掉|弃|了)?|剔除|剔|去掉|移除|清洗"
    r"|清(?:掉|理)|去重|扔(?:掉|了)?|筛掉?|去除|洗一[遍下洗]"
    r"|踢(?:掉|出去?|了)|隔离|摘(?:掉|除|了)|屏蔽|排除掉|排除(?=.{0,4}(?:样本|脏|坏))|下线",
    "set": r"设(?:置|定)?(?:成|为|置|到)?|改(?:成|为|到|用|回|一下|一改|动)?|换(?:成|到"
    r"|个|用|回|掉|一[个下换])?|切(?:换)?(?:到|成|回)?"
    r"|(?<!微)调(?:整)?(?:成|到|为|回|一下|一调)?|用(?=\s*(?:bf16|fp16|fp32|sdpa|\d))|固定|(?:(?<=系数)|(?<=权重)|(?<=惩罚))(?:归零|清零)|给(?=\s?\d)|锁[定死]"
    r"|(?:调整|定|配|弄|搞|给|放|锁)(?:到|成|为|在)(?!一个)",
    "do": r"重启|续训|重[跑训来](?!要)|重新(?:训练|跑|开始|启动|下载|编译|安装|分词|切"
    r"|生成|标注|训|来|拉|打|加载)|回滚|回退|升级|降级|(?<!被)杀[掉了]?|停掉|停(?=了|下)"
    r"|继续(?:训|跑)?|恢复|重装|再(?:跑|训|来一)(?:一?[遍次])?|从头|更新|退[回到]|回到(?=.{0,8}(?:步|存档|ckpt|检查点|checkpoint))"
    r"|上线|发布|接着(?:训|跑)|打补丁|加载(?=.{0,6}(?:ckpt|checkpoint|检查点|权重"
    r"|断点))|终止|中断",
}
BEHIND: tuple[tuple[Direction, str, str], ...] = (
    (
        "raise",
        r"(?:gets? |is |be |was )?doubled"
        r"|(?:way |back |a (?:bit|little) )?(?:up|higher|larger|bigger|longer)(?! (?:than"
        r"|and up|to date))|[x×*] ?[2-9]|[2-9]x|(?:should|must|can|could|needs? to|has to) (?:come|go"
        r"|get) (?:back )?(?:up|higher)",
        "拉满|往[大高长多]了?[调开设]|(?:给|放|调|弄|设|整)?[大高长多](?:一?[点些])|放大(?!了)|多给一?[点些]|乘以?[2-9]",
    ),
    (
        "lower",
        r"(?:gets? |is |be )?(?:halved|cut in half)"
        r"|(?:way |back |a (?:bit|little) )?(?:down|lower|smaller|shorter|in half(?! precision))(?! than)"
        r"|(?:should|must|can|could|needs? to|has to) (?:come|go|get) (?:back )?(?:down|lower)"
        r"|back(?= a (?:bit|notch|little)|\W*$)",
        "减半|往[小低短少]了?[调开设]|(?:是不是)?[该得]降了?|(?:给|放|调|弄|设|整)?[小低短少](?:一?[点些])|缩小|少给一?[点些]|除以?[1-9]",
    ),
    (
        "disable",
        r"(?:completely |entirely |back |goes |gets |stays )?(?:off|out|away|disabled)(?! of)|(?:has|have"
        r"|needs?) to go\b"
        r"|to (?:0|zero|none|false)(?! ?[.\d])",
        "(?:给)?(?:不要了|不用了|不开了?|关(?![系于键注心联])|别[开用加]|[禁停撤]了?)(?![系于键注心联])",
    ),
    (
        "enable",
        r"(?:back |goes |gets |stays )?on(?=\W*$|[,.?!]| (?:for|tonight|and|again|too"
        r"|next|now|to|instead|then|with|before|first|please)\b)|help|to true",
        "开启|打开|加上|开[一着]|开起来|[开上](?=$|[吧行，,？?])",
    ),
)
"""Direction, what stands right behind the thing; only where something is intended."""
WISHES: tuple[tuple[Direction, str, str], ...] = (
    (
        "raise",
        r"(?:much |slightly |even |far |an? (?:bit|little) )?(?:higher|bigger|larger|longer|more|stronger)|twice",
        "(?:更|再)[大高长多]的?",
    ),
    (
        "lower",
        r"(?:much |slightly |even |far |an? (?:bit|little) )?(?:lower|smaller|shorter"
        r"|fewer|less|gentler|weaker)|half",
        "(?:更|再)[小低短少]的?",
    ),
    ("disable", r"no|without|zero|w/?o|minus|sans", "不带|先?不[用开]|撤"),
    ("enable", r"plus", "带上|加"),
    ("set", r"new|different|another|other|fresh|older|newer", "另一?个|别的"),
)
"""Direction, what stands right before the thing; only where something is intended."""


def _forms(stem: str) -> str:
    """The bare form and the one in -ing of a verb, with what belongs to it: `cut_back_on`, `cutting back on`."""
    verb, *rest = stem.split("_")
    base = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb + verb[-1] + "?"
    return rf"(?:{verb}|{base}ing)" + "".join(rf" {word}" for word in rest)


def _verbs(direction: Direction) -> str:
    forms = [_forms(stem) for stem in STEMS[direction].split()]
    for stems, way in MOVED.get(direction, ()):
        forms += [f"{_forms(stem)} {way}" for stem in stems.split()]
    return "|".join(sorted((*forms, PARTICULAR[direction]), key=len, reverse=True))


def _found(en: str, zh: str) -> Sought:
    return Sought(rf"(?<![A-Za-z0-9_.-])(?:{en})(?![A-Za-z_])|{zh}", re.IGNORECASE)


ACTS: list[tuple[Direction, Sought]] = [(direction, _found(_verbs(direction), zh)) for direction, zh in CHINESE.items()]
"""Direction, its verbs; what stands earlier wins where two begin alike and are as long."""
AFTERWARDS: list[tuple[Direction, Sought]] = [(direction, _found(en, zh)) for direction, en, zh in BEHIND]
WISHED: list[tuple[Direction, Sought]] = [(direction, _found(en, zh)) for direction, en, zh in WISHES]
