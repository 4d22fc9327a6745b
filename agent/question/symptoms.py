"""What a person says that was seen: a kind of symptom, with the findings that show it and the metrics that would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...tools.patterns import bounded
from ...tools.phrase import Phrase
from ...tools.registry import table


@dataclass(frozen=True)
class Kind:
    """One thing that can be seen in a run."""

    id: str
    name: Phrase
    said: re.Pattern[str]
    codes: tuple[str, ...]
    """Findings that show it, that which says just this first."""
    metrics: tuple[str, ...]
    """Metrics in which it would be seen; none where only a log line could show it."""
    ends: bool = False
    """Whether a run that has it does not come to its planned end, so that one which does has it not."""


@dataclass(frozen=True)
class Symptom:
    """One symptom as a message tells it."""

    kind: Kind
    where: str
    """As told: "step 4000", "epoch 2", "overnight"; empty for none."""


def _kind(id: str, en: str, zh: str, said: str, codes: str, metrics: str = "", ends: bool = False) -> tuple[str, Kind]:
    found = Kind(id, Phrase(en, zh), bounded(said, re.IGNORECASE), tuple(codes.split()), tuple(metrics.split()), ends)
    return id, found


_SCORES = (
    *("accuracy", "accuracies", "acc", "score", "scores", "metric", "metrics", "margin", "margins", "precision", "f1"),
    *("recall", "faithfulness", "relevancy", "relevance", "correctness", "similarity", "bleu", "rouge", "auc"),
)


def _not_behind(*names: str) -> str:
    return "".join(f"(?<!{name} )(?<!{name} is )(?<!{name} are )" for name in names)


_OF_MEASURE = _not_behind(*_SCORES, "eval", "evals", "win rate", "pass rate", "rate", "ppl", "perplexity", "kl",
                          "entropy", "rewards", "losses", "curve")  # fmt: skip
"""A measure that is stuck is no run that is."""
_NO_SCORE = _not_behind(*_SCORES) + "".join(f"(?<!{n})(?<!{n}都)(?<!{n}全)" for n in ("指标", "得分", "分数", "准确率"))
"""A score that is no number was not computed; that is no loss that is none."""
KINDS: dict[str, Kind] = table(
    "symptoms",
    (
        _kind(
            "nonfinite-loss",
            "a loss that is NaN or inf",
            "loss 变成 NaN 或 inf",
            rf"{_NO_SCORE}\bnans? (?:some|at|in|from|after|since)\w*"
            rf"|{_NO_SCORE}\b(?:went|goes|gets?|got|is|are|all|turns?|turned|became|hits?) (?:to )?nans?\b"
            r"|(?:loss|\bit\b|training|run).{0,25}\b(?:nans?|nan'?d|infs?|infinite"
            r"|not a number)\b|\bnan(?:s"
            rf"|ned)?\b.{{0,12}}(?:loss|at step)|loss.{{0,8}}(?:nan|inf)"
            rf"|{_NO_SCORE}(?:变(?:成)?\s*nan|出(?:现)?\s*nan|nan\s*了)",
            "loss-nonfinite eval-loss-nonfinite loss-hidden-nan nan-in-forward nonfinite-from-start"
            " same-batch-nonfinite-again",
            "loss",
        ),
        _kind(
            "loss-up",
            "a loss that jumps or diverges",
            "loss 突增或发散",
            r"loss.{0,30}\b(?:spik(?:e|es|ed|ing)|explod\w+|diverg\w+|blew up|blows? up|blow(?:n|ing)? up|shot up"
            r"|jump(?:s|ed)?|went up|goes up|goes? through the roof|bump)|\bloss spikes?\b"
            r"|\b(?:\d{1,2}|two|three|four|several|some|a few|many|big|huge|large) spikes\b|[两三几多]\s*[个次]尖峰"
            r"|\b(?:blew|(?<!before it )(?<!before this )(?<!before that )blows?|blown"
            r"|blowing) up\b|\b(?:perplexity|ppl).{0,20}(?:explod\w*|jump\w*|spik\w*)|(?:困惑度|ppl).{0,8}(?:涨|飙"
            r"|爆|上升)|loss.{0,12}(?:尖峰|飙|炸|爆"
            r"|发散|(?<!正负)(?<!上下)跳(?!动)|突然|突增|上升|往上|spike)|损失.{0,10}(?:尖峰|飙|炸|发散|(?<!正负)(?<!上下)跳(?!动)|突增|上升)",
            "loss-spike loss-divergence loss-level-shift loss-nonfinite loss-jump-on-resume loss-abnormal-at-start",
            "loss",
        ),
        _kind(
            "norm-up",
            "a gradient norm that jumps",
            "梯度范数突增",
            r"(?:\bgrad(?:ient)?s?[ _-]?norms?|\bg[ _-]?norm|\bgn\b|\|+ ?g(?:rad)?s? ?\|+|梯度(?:范数|norm)?)"
            r".{0,30}?(?:\b(?:spik(?:e|es|ed|ing)|jump(?:s|ed|ing)?|shot up|shoots? up|blew up|blows? up|bursts?"
            r"|goes? through the roof)\b|尖峰|飙|跳|突增|突然(?:变大|升高)|毛刺)",
            "grad-norm-spike grad-norm-climbs grad-norm-nonfinite",
            "grad_norm",
        ),
        _kind(
            "overflow",
            "steps that overflow and are skipped",
            "溢出而跳过的步",
            r"(?<!stack )(?<!memory )(?<!buffer )(?<!context )(?<!cache )\boverflow(?:s|ed|ing)?\b"
            r"(?! (?:the )?(?:buffer|context|window|disk|page))|\bskip(?:s|ped)\b.{0,12}"
            r"\b(?:steps?|iterations?|updates?)\b|\b(?:steps?|iterations?|updates?) (?:\w+ ){0,2}skipped\b"
            r"|(?<!上下文)(?<!长度)(?<![显内]存)溢出|跳过了.{0,6}(?:步|更新)|(?:步|更新)(?:都|一直|总)?被跳过",
            "loss-scale-collapse steps-skipped",
            "skipped_steps loss_scale",
        ),
        _kind(
            "loss-flat",
            "a loss that does not fall",
            "loss 不下降",
            r"loss.{0,30}\b(?:flat|stuck|plateau\w*|stagnat\w+|stall\w*|not (?:going down|decreasing|moving"
            r"|falling"
            r"|improving)|(?:won'?t|will not) (?:go down|drop|move|budge|fall)|does(?:n'?t| not) (?:go down|drop|move"
            r"|decrease|fall|improve)"
            r"|barely (?:moves|falls))|\b(?:not|isn'?t|doesn'?t|won'?t) (?:learn(?:ing)?|converg\w+)"
            r"|\bplateau(?:ed|s)?\b(?! lr)"
            r"|(?:loss"
            r"|损失).{0,10}(?:不降|不动|不下降|平|卡在|降不下)|不收敛|学不到",
            "loss-plateau loss-slow loss-oscillation no-trainable-parameters learning-rate-zero reward-flat "
            "params-frozen",
            "loss",
        ),
        _kind(
            "eval-worse",
            "an evaluation that gets worse",
            "评测变差",
            r"\b(?:eval|val(?:idation)?|held-?out|test|benchmark|score|accuracy|acc)\b.{0,30}\b(?:wors(?:e|ening)"
            r"|drop(?:s|ped|ping)?|fell|fall(?:s|ing)?|rising|rises|climb\w*|going up|goes up|went up|regressed"
            r"|down"
            r"|decreas\w+|degrad\w+)|(?:评测|验证集?|准确率|得?分数?|指标).{0,12}(?:掉|降|变差|上升|往上|上涨|下滑|跌)",
            "eval-loss-rising eval-regression benchmark-drop accuracy-decline share-falls-from-peak",
            "eval_loss eval_accuracy accuracy eval_reward",
        ),
        _kind(
            "score-flat",
            "an evaluation that does not get better",
            "评测不提升",
            r"\b(?:eval\w{0,7}|val(?:idation)?|acc(?:uracy|uracies)?|scores?|benchmarks?|metrics?|f1|bleu"
            r"|(?:win|pass) ?rates?)\b(?:(?!loss|perplex|reward\b).){0,25}?"
            r"\b(?:stuck|flat|plateau\w*|stagnat\w+|stall(?:s|ed)"
            r"|not (?:improving|going up|rising|increasing|moving)"
            r"|does(?:n'?t| not) (?:improve|go up|rise|increase|move)"
            r"|(?:won'?t|will not) (?:improve|go up|rise|budge))\b"
            r"|(?:评测|验证集?|准确率|精度|得?分数?|指标|胜率)(?!.{0,4}loss).{0,8}"
            r"(?:不涨|不动|不上升|没有?涨|没动|停滞"
            r"|不提升|没有?提升|上不去)",
            "eval-score-flat eval-score-constant accuracy-zero",
            "eval_accuracy eval_reward_accuracy eval_reward accuracy",
        ),
        _kind(
            "out-of-memory",
            "memory that ran out",
            "显存或内存不足",
            r"\booms?\b|out of memory|(?:can'?t|cannot|failed to|unable to) allocate|memory error|爆显存"
            r"|显存(?:不足|不够|爆|溢出)|内存(?:不足|不够|爆)",
            "cuda-oom host-oom kv-cache-oom oom-in-evaluation oom-in-optimizer-step gpu-memory-growth "
            "shm-exhausted "
            "process-killed",
            ends=True,
        ),
        _kind(
            "memory-growth",
            "memory that grows",
            "显存或内存持续上涨",
            r"\b(?:memory|vram|ram|rss)\b.{0,30}\b(?:grow\w*|creep\w*|climb\w*|ris(?:es|ing)|increas\w+"
            r"|keeps? (?:going up|rising))"
            r"|(?:显存|内存).{0,12}(?:越来越[大高多]|上涨|增长|增加|(?:一直|不断|慢慢|往上)涨)",
            "gpu-memory-growth host-memory-grows memory-grows-on",
            "gpu_memory",
        ),
        _kind(
            "hang",
            "a run that stands still",
            "训练卡住",
            r"\b(?:hang(?:s|ing)?|hung|(?<!loss )(?<!loss is )(?<!reward )(?<!reward is )(?<!acc )"
            r"(?<!acc is )(?<!accuracy is )"
            rf"{_OF_MEASURE}stuck(?! at (?!\d\d?:\d\d)\d| on (?:the )?loss)"
            r"|freez(?:e|es|ing)|frozen(?! layers"
            r"| param)"
            r"|no progress|just sits|sits there|deadlock(?:ed)?|stall(?:s|ed)?)\b|卡死|卡住|不动了|没有?反应|挂起",
            "hang-no-progress log-stands-still nccl-timeout rank-missing collective-mismatch rendezvous-timeout "
            "timeout-after-error",
            ends=True,
        ),
        _kind(
            "slow",
            "a run that is slow",
            "训练变慢",
            r"\b(?:slow(?:er|ly|s|ed)?(?: down)?|(?:throughput|tok/s|tokens/s|samples/s|it/s|mfu).{0,20}(?:drop\w*"
            r"|fell|low|halved)|crawl(?:s|ing)?"
            r"|takes? forever|(?:gpu )?util\w* (?:is )?low)\b|变慢|越来越慢"
            r"|(?<![降敛]得)(?<!下降)(?<!收敛)(?:很慢|太慢|慢了)"
            r"|吞吐.{0,8}(?:降|低|掉)|利用率低",
            "throughput-drop throughput-low step-time-jitter straggler gpu-utilization-low speculation-slower-at-load "
            "latency-grows latency-explodes-with-load requests-wait-at-limit requests-wait-at-budget queue-grows "
            "prefix-cache-lost decode-slow",
            "tokens_per_second step_time samples_per_second",
        ),
        _kind(
            "kl-high",
            "a KL that runs away",
            "KL 失控",
            r"\bkl\b.{0,25}\b(?:explod\w+|blow\w*|blew|huge|high|shot|ris\w+|spik\w+|went to|diverg\w+|runaway"
            r"|through the roof|climb\w*)|KL.{0,8}(?:爆|飙|太?大|太?高|失控|上升|发散)",
            "kl-above-range rl-instability",
            "kl",
        ),
        _kind(
            "entropy-low",
            "an entropy that collapses",
            "熵坍塌",
            r"\bentropy\b.{0,25}\b(?:collaps\w+|drop\w*|low|fell|falls?|goes? to (?:zero|0)|down|vanish\w*"
            r"|(?:basically |almost |nearly )?zero|gone)"
            r"|熵.{0,8}(?:坍塌|崩|塌|掉|降|低)",
            "entropy-collapse low-diversity",
            "entropy",
        ),
        _kind(
            "reward-flat",
            "a reward that does not rise",
            "奖励不涨",
            r"\breward\b(?! (?:model|head)).{0,25}\b(?:flat|stuck|not (?:going up|rising|increasing|improving|moving)"
            r"|does(?:n'?t| not) (?:rise"
            r"|go up|increase|move|improve)|zero|stays)"
            r"|(?:奖励|reward).{0,10}(?:不涨|不动|不上升|没动|没涨|平|一直是?0)",
            "reward-flat zero-advantage-groups reward-decline",
            "reward",
        ),
        _kind(
            "never-stops",
            "a generation that never stops",
            "生成不停",
            r"\b(?:never|won'?t|doesn'?t|does not|not) (?:stop|end|shut up|emit)\w*|endless(?:ly)?|run-?on"
            r"|until the (?:limit|max)|repeats? (?:it|itself|the same|forever)|keeps? (?:generating|going|talking"
            r"|repeating)|停不下来|不停|不会停|一直(?:生成"
            r"|输出)|没完没了|复读",
            "generation-not-stopping eos-not-trained repetition-loop repeated-text response-truncated "
            "response-length-growth pad-equals-eos answer-cut-off rows-at-limit answers-lost-at-limit",
        ),
        _kind(
            "crash",
            "a run that crashed",
            "训练崩溃",
            r"(?<!about to )(?<!going to )(?<!gonna )(?<!might )"
            r"\b(?:crash(?:es|ed|ing)?|died|dies|killed|segfault\w*|traceback|exception|core dump\w*|aborted"
            r"|exit(?:ed)? (?:with )?(?:code|status))\b"
            r"|(?<![没无不快要会将])(?<!没有)(?:崩(?:溃|了)|挂了|报错|被杀|退出)"
            r"|\b(?:process\w*|job|run|training)\b.{0,16}\b(?:gone|disappeared|vanished)\b"
            r"|(?:进程|任务|作业|训练|程序).{0,4}(?:没了|消失|不见了|(?:自己|突然)?(?:停|断)了)",
            "uncaught-exception process-killed engine-crash native-crash cuda-error interrupted job-cancelled "
            "host-oom node-lost "
            "cuda-oom nccl-timeout import-error killed-without-reason argument-error command-refused device-assert "
            "cuda-illegal-access "
            "engine-init-failure checkpoint-load-error file-missing data-schema-mismatch",
            ends=True,
        ),
    ),
)
"""In the order in which they are named."""

_WHERE = bounded(
    r"(?:at|around|after|from|since|by|near|~) (?:about |around )?(?:step|iter(?:ation)?|epoch|batch"
    r"|checkpoint"
    r"|update)\s*~?\d[\d,.]*\s*[kKmM]?\b|step ?\d[\d,.]*[kKmM]?|overnight|after (?:the |a )?(?:restart|resume"
    r"|upgrade|merge)"
    r"|第\s*[\d一二三四五六七八九十百千万]+\s*(?:万|千|k)?\s*(?:步|轮|个?epoch)|\d+\s*(?:步|轮)|一夜之间|重启(?:之)?后|恢复(?:之)?后",
    re.IGNORECASE,
)


def symptoms(text: str) -> Iterator[Symptom]:
    """The symptoms that the person's own words tell."""
    where = _WHERE.search(text)
    return (Symptom(kind, where[0] if where else "") for kind in KINDS.values() if kind.said.search(text))


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where a text tells symptoms."""
    return (m.span() for kind in KINDS.values() for m in kind.said.finditer(text))
