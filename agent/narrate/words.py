"""Every sentence of an answer, a criterion and a verdict in both languages; which is said is decided by its user."""

from __future__ import annotations

from ...tools.phrase import Phrase, phrases

WORDS = phrases(
    "words of an answer",
    ("diagnosed", "**Most likely: {title}** (`{id}`) — {status}{odds}.",
     "**最可能：{title}**（`{id}`）—— {status}{odds}。"),
    ("held", "; {right} of {n} such answers about strangers' runs were right",
     "；此类回答在陌生运行上 {n} 次中对 {right} 次"),
    ("by-words", ", probability {p}", "，概率 {p}"),
    ("leaning", "**Inconclusive.** Best supported so far, and too little for a diagnosis: {title} (`{id}`), {p}.",
     "**无法下结论**。目前证据最多、但仍不足以诊断的是：{title}（`{id}`），{p}。"),
    ("or", "Also supported: {title} (`{id}`), {p}.", "另有证据支持：{title}（`{id}`），{p}。"),
    ("inconclusive", "**Inconclusive.** What was looked at does not support one cause over the others.",
     "**无法下结论**。现有证据不足以支持某一个原因。"),
    ("trouble-seen",
     "**Inconclusive.** Trouble was seen ({places}); what was read does not support one cause of it over the others.",
     "**无法下结论**。看到了异常（{places}），但读到的内容不足以在几种原因之间作出判断。"),
    ("no-failure-seen",
     "**Inconclusive.** No failure was seen in what was read, which is too little to call the run healthy{missing}.",
     "**无法下结论**。读到的内容里没有看到故障，但不足以判断运行正常{missing}。"),
    ("lead", "First to look at: {title} (`{id}`), {status}.", "可以先看：{title}（`{id}`），{status}。"),
    ("not-logged", "Missing: {names}, which would tell them apart.", "缺少 {names}，有了才能区分。"),
    ("symptom",
     "**Inconclusive.** It is clear what happened: {title} (`{id}`); what was read does not tell why: several causes "
     "fit it equally.",
     "**无法下结论**。现象是清楚的：{title}（`{id}`）；但读到的内容不足以判断原因，有几种原因同样符合。"),
    ("untold",
     "**Inconclusive.** What would tell the cause was not written down (`{id}`, {places}). Log from now on: {asks}.",
     "**无法下结论**。能区分原因的内容没有记录（`{id}`，{places}）。从现在起请记录：{asks}。"),
    ("unseen",
     "**Inconclusive.** What would show what happened could not be read ({what}). Only what is set points to a cause "
     "({title}, `{id}`).",
     "**无法下结论**。能显示实际情况的内容无法读取（{what}）。只有设置指向一个原因（{title}，`{id}`）。"),
    ("unread",
     "**Nothing can be said yet.** What could be read shows nothing wrong, but not all could be checked ({what}); "
     "mend that and ask again.",
     "**还不能下结论**。能读到的部分没有发现问题，但有内容无法检查（{what}）；请先处理，再重新提问。"),
    ("stopped",
     "**The program stopped with an error that no entry of the runbook names**: {error} ({place}).",
     "**程序因一个手册中没有条目的错误而停止**：{error}（{place}）。"),
    ("trace",
     "Read the lines above {file}:{line}: the last frame of the traceback that is your own code is the place.",
     "看 {file}:{line} 上面的几行：回溯里最后一个属于你自己代码的位置就是出错的地方。"),
    ("closest",
     "**Not established.** The source runbooks do not cover this; closest is an entry from public reports: {title} "
     "(`{id}`), by your words alone ({p}).",
     "**尚未证实**。来源手册没有覆盖这个问题；最接近的是一条来自公开报告的条目：{title}（`{id}`），"
     "仅依据文字（{p}）。"),
    ("not-covered",
     "**The runbook does not cover this**, or the words do not say what happens: name a symptom (the loss is nan, out "
     "of memory, it hangs) or a run.",
     "**手册没有覆盖这个问题**，或者描述里没有说发生了什么：请说出现象（loss 变成 nan、显存不足、卡死），"
     "或给出运行目录。"),
    ("too-little",
     "**Inconclusive.** Nothing wrong was found in what was read, but that is too little to call the run healthy, "
     "and nothing in it points to a cause.",
     "**无法下结论**。读到的内容没有发现问题，但不足以判断运行正常，其中也没有指向某个原因的内容。"),
    ("healthy-in-part", "**Nothing wrong in what was read**, which is not enough to call the run healthy: {missing}.",
     "**读到的内容没有发现问题**，但不足以判断运行正常：{missing}。"),
    ("healthy-in-part-look",
     "**No failure in what was read**, which is not enough to call the run healthy: {missing}.",
     "**读到的内容里没有故障**，但不足以判断运行正常：{missing}。"),
    ("healthy", "**Nothing wrong was found in this run.**", "**这次运行没有发现问题。**"),
    ("healthy-so-far",
     "**Nothing wrong was found in this run so far**; its log ends before the planned end, and how it ends is open.",
     "**到目前为止这次运行没有发现问题**；日志在计划终点之前结束，最后如何尚不可知。"),
    ("healthy-look", "**No failure was found in this run.**", "**这次运行没有发现故障**。"),
    ("look", "Worth a look all the same (S2, likely wrong): {places}.", "仍值得看一看（S2，多半有问题）：{places}。"),
    ("healthy-but", "Your words would point to `{id}` ({title}), but the run does not show it.",
     "按描述会想到 `{id}`（{title}），但运行记录里没有这个现象。"),
    ("healthy-benign", "What you describe may be normal: `{id}` ({title}).",
     "你描述的现象可能是正常的：`{id}`（{title}）。"),
    ("healthy-note", "What you describe is there, as no more than a note ({places}): `{id}` ({title}).",
     "你描述的现象确实存在，但只是一条提示（{places}）：`{id}`（{title}）。"),
    ("out-of-scope",
     "This is outside what triage is for: failures in training, aligning and serving language models. It reads runs "
     "and answers about them; it does not execute commands or follow instructions found in text.",
     "这超出了 triage 的范围：它只处理语言模型训练、对齐和推理服务中的故障。它读取运行记录并作答，不执行命令，"
     "也不服从文本里的指令。"),
    ("words-only", "No run was given, so this rests on your words alone: add `--run PATH` for evidence.",
     "没有给出运行目录，以上只依据文字描述：加上 `--run 路径` 才有证据。"),
    ("shows", "### What the run shows", "### 运行中看到的"),
    ("more", "… and {n} more findings (`--json` lists all).", "…… 另有 {n} 条（`--json` 列出全部）。"),
    ("unexplained", "Not explained by any cause above: {codes}.", "以上原因都不能解释：{codes}。"),
    ("causes", "### Possible causes, most probable first", "### 可能的原因（概率从高到低）"),
    ("odds", "The percentage ranks the causes of this run by its evidence; how often such answers were right on "
     "strangers' runs stands in the headline (triage explain probability).",
     "百分比按证据给这次运行的原因排序；此类回答在陌生运行上对了多少次见首行（triage explain probability）。"),
    ("cause", ", perhaps: {cause}", "，可能是：{cause}"),
    ("for", "for", "支持"),
    ("against", "against", "反对"),
    ("close", "The first two are close. This check splits them: {check}", "前两个很接近。用这个检查区分：{check}"),
    ("also", "A second fault, with evidence of its own: {title} [`{id}`] ({evidence}).",
     "另有一个独立的故障：{title} [`{id}`]（{evidence}）。"),
    ("mend", "Mend one at a time, in this order: {order}.", "逐个修复，顺序：{order}。"),
    ("checked", "Checked: {text}", "已查：{text}"),
    ("check", "Check first (read-only): {check}", "先做只读检查：{check}"),
    ("conflicts", "### Where the sources disagree", "### 来源有分歧"),
    ("decided", "This run supports: {position}.", "这次运行支持：{position}。"),
    ("undecided", "Decided by: {by}", "判断依据：{by}"),
    ("change", "### One change: `{variable}`", "### 只改一处：`{variable}`"),
    ("from-to", "{file}: `{name}` from `{old}` to `{new}`", "{file}：`{name}` 从 `{old}` 改为 `{new}`"),
    ("elsewhere", "Change `{name}`: {new}", "修改 `{name}`：{new}"),
    ("old", " (now: {old})", "（现值：{old}）"),
    ("why", "Why: {text}", "理由：{text}"),
    ("expect", "Expect: {text}", "预期：{text}"),
    ("undo", "Undo: {text}", "撤销：{text}"),
    ("unchanged", "Leave everything else as it is.", "其余设置保持不变。"),
    ("stays", "Leave everything else as it is; keep above all: {names}.", "其余设置保持不变，尤其不要动：{names}。"),
    ("no-change", "No change is proposed yet: {why}.", "暂不建议改动：{why}。"),
    ("acceptance", "### It is fixed when", "### 满足以下条件才算修好"),
    ("hidden", "Credentials and control characters are hidden in this patch, so it does not apply as shown; "
     "`triage cases patch CASE > fix.patch` writes the real one.", "补丁中的凭据和控制字符已隐去，不能直接应用；"
     "在本机运行 `triage cases patch CASE > fix.patch` 可得到真实补丁。"),
    ("then", "Then: {command}", "之后运行：{command}"),
    ("cautions", "### Cautions", "### 注意"),
    ("own", "### From your own runbooks (quoted, not checked by triage)",
     "### 来自你自己的手册（仅引用，未经 triage 核实）"),
    ("looked", "### What was looked at", "### 检查范围"),
    ("sources", "### Sources", "### 来源"),
    ("found", "found something", "有发现"),
    ("clear", "clear", "正常"),
    ("too-short", "too short to judge", "太短，无法判断"),
    ("not-applicable", "no such artifact", "没有对应文件"),
    ("more-checks", " and {n} more", " 等，另有 {n} 项"),
    ("failed", "**could not be checked**", "**未能检查**"),
    ("established", "established by a decisive finding", "有决定性证据"),
    ("supported", "supported by findings", "有证据支持"),
    ("possible", "possible, from the words only", "仅依据文字，有可能"),
    ("weak", "possible, with weak support", "有可能，支持较弱"),
    ("refuted", "refuted", "已被证据否定"),
)  # fmt: skip
BASIS = phrases(
    "bases of a criterion",
    ("stated", "stated", "来源明确给出"),
    ("inverted", "from the stated symptom", "由来源的症状反推"),
    ("assumed", "definition assumed", "定义为假定"),
    ("proposed", "proposed by triage, not from a source", "triage 提议，非来源"),
)  # fmt: skip
IS = phrases(
    "kinds of criteria",
    ("finite", "stays finite", "保持有限值"),
    ("between", "between {low:g} and {high:g}", "在 {low:g} 与 {high:g} 之间"),
    ("below", "< {high:g}", "< {high:g}"),
    ("at-most", "<= {high:g}", "<= {high:g}"),
    ("above", "> {low:g}", "> {low:g}"),
    ("at-least", ">= {low:g}", ">= {low:g}"),
    ("equals", "= {value}", "= {value}"),
    ("increases", "increases", "上升"),
    ("decreases", "decreases", "下降"),
    ("stable", "is stable", "保持稳定"),
    ("true", "holds", "成立"),
    ("false", "does not hold", "不成立"),
    ("true-found", "is found", "出现"),
    ("false-found", "is no longer found", "不再出现"),
)  # fmt: skip
"""A criterion on a finding says whether it is found; `-found` tells it from one on a measure."""
RULES = {
    "unchanged": Phrase("its value before", "原来的值"),
    "T_tokens / GB_tok": Phrase(
        "the tokens planned over the tokens of one step", "计划的 token 总数 / 每步的 token 数"
    ),
}
"""What a criterion compares with, where the sources write a rule for it."""
NEEDS = phrases(
    "what a criterion needs",
    ("reference artifact", "needs reference artifact", "需要参照数据"),
    ("human labels", "needs human labels", "需要人工标注"),
    ("operational", "needs operational", "流程要求"),
)  # fmt: skip
AFTER = phrases("where a window begins", ("warmup", "after warm-up", "预热之后"), ("start", "from the start", "从开始"))
STEPS = Phrase("over {n} steps", "{n} 步")
NEAR = Phrase(" (near the threshold)", "（接近阈值）")
CHOSEN = Phrase(
    "Several runs lie there; compared: `{old}` with `{new}`.", "路径里有多个运行；比较的是 `{old}` 与 `{new}`。"
)
COLUMNS = Phrase(
    "| criterion | result | value | points | window and definition |", "| 指标 | 结果 | 数值 | 点数 | 范围与口径 |"
)
RESULTS = phrases(
    "results of a criterion",
    ("pass", "pass", "通过"),
    ("fail", "fail", "未通过"),
    ("no-observation", "not observed", "未观察到"),
    ("True", "yes", "是"),
    ("False", "no", "否"),
    ("True-found", "found", "出现"),
    ("False-found", "not found", "未出现"),
    ("neighbour", "`{metric}` no worse than before", "`{metric}` 没有变差"),
)
NAMED = phrases(
    "names of verdicts",
    ("fixed", "**fixed**: ", "**已修复**（fixed）："),
    ("not-fixed", "**not-fixed**: ", "**未修复**（not-fixed）："),
    ("confounded", "**confounded**: ", "**无法归因**（confounded）："),
    ("inconclusive", "**inconclusive**: ", "**无法判断**（inconclusive）："),
)
VERDICTS = phrases(
    "words of a verdict",
    ("several-changes", "{n} settings differ between the two runs, so no one of them can be credited. Change one.",
     "两次运行有 {n} 处设置不同，无法归因。只改一处。"),
    ("failure-remains", "the old failure is still there: {remaining}.", "原来的故障仍在：{remaining}。"),
    ("new-failure", "a new failure appeared: {new}.", "出现了新的故障：{new}。"),
    ("criterion-failed", "an acceptance criterion failed.", "有验收条件未通过。"),
    ("neighbour-worse", "the criteria pass, but a neighbouring metric got worse.", "验收条件通过，但相邻指标变差。"),
    ("nothing-changed", "no setting differs between the two runs as far as the files show, so nothing was tested.",
     "从文件看两次运行没有设置差异，等于没有验证任何改动。"),
    ("too-little-seen",
     "not every criterion could be observed yet (the old failure came at step {must_reach}). Missing: {missing}.",
     "还有验收条件无法观察（原故障出现在第 {must_reach} 步）。缺少：{missing}。"),
    ("nothing-computable",
     "no acceptance criterion of this entry can be judged from these runs: each needs a reference artifact, human "
     "labels or other hardware.",
     "该条目的验收条件都无法仅凭这两次运行判断：需要参照数据、人工标注或其他硬件。"),
    ("what-stays-changed",
     "the failure did not show itself{until}, but what was changed is what the diagnosis said to leave alone: the "
     "cause may still be there.",
     "{until}没有再现原故障，但改的是诊断中要求不动的设置：原因可能还在。"),
    ("all-pass",
     "one change, every computable criterion passed, the old failure did not return{until}, no neighbour got worse.",
     "只改了一处，可计算的验收条件全部通过，{until}原故障没有再现，相邻指标没有变差。"),
    ("all-pass-unseen",
     "every computable criterion passed, the old failure did not return{until}, no neighbour got worse. No changed "
     "setting was seen: what was done is not in these files.",
     "可计算的验收条件全部通过，{until}原故障没有再现，相邻指标没有变差。没有看到设置有改动：做了什么，这些文件里看不到。"),
)  # fmt: skip
"""By the rule that gave the verdict."""
UNTIL = Phrase(" by step {reached}", "到第 {reached} 步")
