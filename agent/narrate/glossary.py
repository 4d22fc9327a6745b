"""The words of an answer that a reader may not know, each explained in both languages: `triage explain S1`."""

from __future__ import annotations

from ...tools.phrase import phrases

GLOSSARY = phrases(
    "words that are explained",
    ("S0", "Severity S0, fatal: the run crashed, hangs or computes with NaN, or what it does from here on is lost. Act "
     "now.", "严重级别 S0（致命）：运行崩溃、卡死、数值为 NaN，或者从此以后的结果都作废。需要立即处理。"),
    ("S1", "Severity S1, serious: the run goes on, but its result is spoilt or will be. Mend it before the next run.",
     "严重级别 S1（严重）：运行还在继续，但结果已经或即将被毁掉。下一次运行之前要修好。"),
    ("S2", "Severity S2, medium: likely wrong, and often a hint at the cause of something worse.",
     "严重级别 S2（中等）：很可能有错，常常是更严重问题的线索。"),
    ("S3", "Severity S3: worth knowing: speed, cost, a note. `triage scan --fail-on S2` lets it pass.",
     "严重级别 S3：值得知道：速度、成本或提示。`triage scan --fail-on S2` 会放行。"),
    ("probability",
     "The percentage beside a cause says how much of the evidence-weighted odds it holds among all entries of the "
     "runbook and \"none of these\": the entry's prior, times the strength of every finding for and against it. It "
     "ranks the causes of this run; it is not a frequency measured on runs like yours: that one is in the headline. "
     "Below 80% a cause is no diagnosis, unless an error that stopped or spoilt the run speaks for it. Nothing that is "
     "not established gets more than 97%, and your words never move it.",
     "原因旁边的百分比，表示在手册全部条目和“都不是”之间，它按证据加权所占的比重：条目的先验乘以每条支持或反对它的发现"
     "的强度。它用来给这次运行的原因排序，不是在类似运行上测得的频率（那个数字在首行）。低于 80% 的原因不算诊断，"
     "除非有使运行停止或作废的错误支持它。没有被证实的原因最多给 97%，"
     "而且你的描述不会改变它。"),
    ("decisive", "A decisive finding settles a cause alone. Strong, moderate and weak ones add up, each counting less "
     "than the one before.", "“decisive”表示单独一条就能定论；strong、moderate、weak 依次减弱，累加时逐条打折。"),
    ("established", "Established: a decisive finding of this run proves the cause.",
     "有决定性证据：这次运行里有一条发现足以证明该原因。"),
    ("supported", "Supported: findings of this run speak for the cause, none of them decides it.",
     "有证据支持：这次运行的发现支持该原因，但没有一条足以定论。"),
    ("possible", "Possible: only the words of the question, or weak findings, speak for it.",
     "可能：只有问题中的描述或较弱的发现支持它。"),
    ("refuted", "Refuted: a decisive finding of this run speaks against the cause.",
     "已被否定：这次运行里有决定性的发现反对该原因。"),
    ("lead", "A lead (`lead-says`, `lead-differs`, ...): what a file of the run says that could matter, shown where "
     "nothing is established, with its line. It makes a cause possible and never more. `lead-subject`: the words of "
     "the files are those of this failure, as people collect what shows a trouble; a healthy run of the same kind "
     "holds the same words.",
     "线索（`lead-says`、`lead-differs` 等）：在没有定论时，运行文件中可能有关的内容，附行号。它只让原因成为“可能”，"
     "不会更多。`lead-subject`：文件用词与该故障相符（人们会收集能说明问题的材料）；同类的正常运行也含有同样的词。"),
    ("inconclusive",
     "Inconclusive: what was read does not prefer one cause, or is too little to judge. The answer names the check "
     "that would decide; a verdict of `verify` names the criteria that could not be observed yet.",
     "无法下结论：读到的内容不足以偏向某个原因，或者太少。回答会给出能区分的检查；"
     "`verify` 会列出还无法观察的验收条件。"),
    ("fixed", "Verdict fixed: one change, every criterion that can be computed passed, the old failure did not return, "
     "no neighbouring metric got worse.",
     "结论 fixed（已修好）：只改了一处，可计算的验收条件全部通过，原故障没有再现，相邻指标没有变差。"),
    ("not-fixed", "Verdict not-fixed: the old failure is there again, a new one appeared, or a criterion failed.",
     "结论 not-fixed（未修好）：原故障仍在、出现新的故障，或有验收条件未通过。"),
    ("confounded", "Verdict confounded: several settings differ between the runs, so no one of them can be credited.",
     "结论 confounded（无法归因）：两次运行有多处设置不同，无法归功于其中一处。"),
    ("clear", "Clear: the check looked at enough and found nothing.", "正常：检查看了足够的内容，没有发现问题。"),
    ("too-short", "Too short to judge: there was something to look at, but too little of it. This is no all-clear.",
     "太短，无法判断：有内容可看，但太少。这不等于正常。"),
    ("not-applicable", "Had nothing to look at: no file of the run holds what this check reads.",
     "没有对应内容：运行里没有文件包含这项检查要读的东西。"),
    ("failed", "Could not be checked: a file was broken, refused or over a limit. Nothing is said about it.",
     "未能检查：文件损坏、被拒绝或超过上限。对它不作任何判断。"),
    ("sign", "A sign is a relation between measures of a run, such as `rises(grad_norm) before nonfinite(loss)`: the "
     "runbook says for which causes it speaks, and the run is asked whether it holds.",
     "sign（迹象）是一次运行中各指标之间的关系，例如 `rises(grad_norm) before nonfinite(loss)`：手册写明它支持哪些"
     "原因，再到运行里核对它是否成立。"),
    ("checkpoint", "Weights that a training can go on from, a folder or a file; `triage checkpoint check` looks in.",
     "checkpoint（检查点）：可以从它继续训练的权重文件或目录；`triage checkpoint check` 检查它。"),
    ("sources",
     "Where the runbook has its facts: five source runbooks, called the post-training runbook, the large-model "
     "runbook, the diagnosis handbook, the LightRFT guide and the MiniOneRec guide, with the chapter; or a public "
     "report or page. \"Proposed by triage\" is a number that none of them states.",
     "来源：手册的依据。五本来源手册是《后训练 Runbook》《大模型排障 Runbook》《训练诊断手册》《LightRFT 指南》"
     "和《MiniOneRec 指南》，后面是章节；或者公开的报告、文档。“triage 提议”表示没有来源给出这个数字。"),
    ("grad_norm", "The length of the gradient before clipping. It climbs before many divergences.",
     "grad_norm：裁剪前梯度的范数。许多发散之前它会先上涨。"),
)  # fmt: skip
