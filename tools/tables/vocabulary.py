"""What the name of a column says of it: the words of axes, groups, identifiers and texts, and the unit in a header.

The names of metrics and of step counters are `tools.vocabulary`; what is made of names and values together is `roles`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from ..meaning import quantity
from ..metrics import canonical, step_key
from ..patterns import bounded
from ..vocabulary import COUNTERS, VOCABULARY
from .cells import is_unit
from .raw import words_of
from .usual import usual

AXES: Mapping[str, frozenset[str]] = MappingProxyType({
    "step": words_of("step steps global_step iteration iterations iter iters it n_iter update updates num_updates "
                     "batch_idx training_step train_step optimizer_step gradient_step batches_seen n_updates "
                     "current_step cur_step at_step env_step env_steps timestep timesteps total_timesteps "
                     "num_steps episode episodes ppo_step 步 步数 步骤 训练步数 训练步 迭代 迭代次数 迭代数 全局步数 "
                     "当前步 更新步数 更新次数 步长数 窗口 窗口号 数据窗口 window_idx window_id window_no"),
    "epoch": words_of("epoch epochs ep epoch_num num_epoch epoch_idx current_epoch train_epoch 轮 轮次 轮数 周期 "
                      "训练轮数 训练轮次 第几轮 回合 epoche epochen época époque エポック"),
    "tokens": words_of("tokens total_tokens num_tokens consumed_tokens tokens_seen seen_tokens "
                       "num_input_tokens_seen tokens_processed processed_tokens train_tokens n_tokens "
                       "trained_tokens token_count tokens_b training_tokens cumulative_tokens "
                       "consumed_train_tokens total_tokens_seen 词元 词元数 已训练词元 训练词元数 已消耗token数 "
                       "token数 训练token数 累计token数 累计tokens 已训练token 累计token"),
    "samples": words_of("samples_seen consumed_samples consumed_train_samples seen_samples num_samples_seen "
                        "examples_seen 已训练样本 累计样本 已消耗样本数"),
    "time": words_of("time timestamp date datetime wall_time walltime wall_clock ts t elapsed elapsed_time "
                     "elapsed_s elapsed_sec elapsed_seconds runtime_s created_at updated_at created logged_at "
                     "recorded_at start start_time end end_time started_at finished_at ended_at submit "
                     "submit_time submitted_at hour minute relative_time time_s second seconds sec time_stamp utc "
                     "clock when day week month time_elapsed seconds_elapsed since_start uptime epoch_time "
                     "unix_time unixtime eligible received_at sent_at scraped_at 时间 时刻 日期 时间戳 记录时间 "
                     "采样时间 开始时间 结束时间 提交时间 耗费时间 运行时间 已用时间 累计时间 经过时间 创建时间 "
                     "墙钟时间"),
    "checkpoint": words_of("checkpoint ckpt checkpoint_step ckpt_step checkpoint_name checkpoints snapshot 检查点 "
                           "权重 模型权重 断点 存档"),
    "length": words_of("len length seq_len sequence_length seqlen context_length context_len ctx_len context ctx "
                       "input_len input_length isl osl input_tokens prompt_len max_len max_length "
                       "num_input_tokens context_size prompt_tokens n_ctx seq_length context_window 长度 序列长度 "
                       "上下文长度 上下文 输入长度 文本长度 窗口长度"),
    "depth": words_of("depth depth_percent needle_depth position_percent document_depth depth_pct insert_depth "
                      "insertion_depth 深度 插入深度 针深度 埋入深度"),
    "load": words_of("size concurrency conc concurrent k batch_size bsz micro_batch_size request_rate qps rps "
                     "max_concurrency num_concurrent num_clients n_clients clients users num_users connections batch "
                     "bs threads num_threads n_gpus num_gpus world_size gpus nodes nnodes num_prompts msg_size "
                     "message_size size_bytes bucket percentile quantile le 并发 并发数 请求速率 批大小 卡数 分位数 "
                     "分位 并发量"),
    "index": words_of("index index_level_0 unnamed_0 idx # no no. nr num row row_id row_number i n order ordinal "
                      "rownum position pos sample_idx example_idx line line_no record 序号 编号 行号 索引 序 "
                      "第几条"),
})  # fmt: skip
"""Kind of an axis -> names of its columns. `load` is what a benchmark turns up: concurrency, batch, percentile."""

GROUPS: Mapping[str, frozenset[str]] = MappingProxyType({
    "rank": words_of("rank local_rank global_rank dp_rank tp_rank pp_rank cp_rank ep_rank worker worker_id "
                     "worker_rank process proc process_index rank_id ranks actor replica replica_id 进程 进程号 "
                     "秩 工作进程 副本"),
    "host": words_of("host hostname node nodename node_name nodelist node_id machine ip ip_address server "
                     "instance pod pod_name host_name nodes_list reqnodes exported_instance nodelist(reason) 节点 "
                     "主机 机器 主机名 节点名 服务器 机器名 结点"),
    "gpu": words_of("gpu gpu_id gpu_index gpu_idx gpu_name device device_id device_index card cuda npu npu_id "
                    "chip gpu_uuid device_name accelerator dcu modelname 显卡 卡 卡号 设备 设备号 加速卡 显卡号 "
                    "gpu编号 显卡编号 gpu序号 设备编号"),
    "shard": words_of("shard shard_id shards shard_idx file_shard partition part part_id split_id bucket_id chunk "
                      "chunk_id shard_name 分片 分区 分块 分片号 队列"),
    "source": words_of("source dataset data_source datasource data corpus domain subset src dataset_name "
                       "data_name origin data_set db collection bucket_name namespace site 来源 数据集 数据源 "
                       "语料 数据来源 领域 语料来源 域 数据集名"),
    "task": words_of("task tasks task_name benchmark benchmarks subject category eval eval_name test_name "
                     "problem_type topic subtask suite field skill question_type discipline bench benchmark_name "
                     "env environment scenario capability dimension level difficulty tier jobname job_name 任务 "
                     "任务名 学科 科目 类别 评测集 评测任务 基准 题型 难度 能力 类型 维度 场景 测评项 评测项 评测 "
                     "主题"),
    "language": words_of("language lang languages locale lang_code language_pair lp 语言 语种"),
    "layer": words_of("layer layer_idx layer_id layer_index layer_num block_idx block 层 层数 层号 第几层"),
    "parallel": words_of("tp pp dp cp ep sp tp_size pp_size dp_size cp_size ep_size tensor_parallel_size 并行度"),
    "expert": words_of("expert expert_id expert_idx experts expert_index 专家 专家号 专家编号"),
    "annotator": words_of("annotator rater labeler labeller judge judge_model reviewer annotator_id rater_id "
                          "grader evaluator coder worker_name annotators labeled_by 标注员 标注者 标注人 评审 "
                          "评审员 打分人 评分者 标注人员 评委 评分人"),
    "phase": words_of("phase stage when period before_after condition_time wave mode split fold timepoint "
                      "treatment split_name step_type 阶段 时期 前后 划分 时段 集合 数据划分 训练阶段 变更前后"),
    "metric": words_of("metric metrics metric_name measure measurement indicator quantity stat statistic tag key "
                       "kpi variable filter counter series 指标 指标名 度量 统计量 统计项 评测指标 指标名称"),
    "variant": words_of("model model_name model_id model_path variant run run_name config setting arm method exp "
                        "experiment system engine backend quant quantization precision dtype optimizer approach "
                        "algorithm recipe seed version trial architecture arch configuration condition group "
                        "policy framework impl implementation strategy checkpoint_dir schedule scheduler kernel "
                        "op operator func function run_id hardware branch baseline loss_type attention attn "
                        "mode_name candidate submission tokenizer queue account user partition_name type kind api "
                        "route endpoint path_template handler method_name module component param parameter "
                        "layer_name tensor tensor_name bucket_type param_group 模型 方案 版本 配置 实验 模型名 "
                        "模型名称 方法 变体 组别 分组 组 运行 量化 精度类型 优化器 种子 随机种子 算法 策略 系统 "
                        "实验名 对照组 模块 引擎 后端 框架 参数组"),
})  # fmt: skip
"""Kind of a group -> names of its columns."""

IDENTIFIERS = words_of("id uuid uid guid job_id jobid request_id req_id sample_id example_id prompt_id record_id "
                       "doc_id question_id task_id trace_id span_id pid hash sha commit commit_id md5 path file "
                       "filename filepath url uri key_id doc document_id instance_id item_id item conversation_id "
                       "session_id user_id bus_id busid pci_bus_id uuid_gpu jobidraw qid id_ run_uuid "
                       "experiment_id bus-id pci ids sample file_name 编号id 样本id 请求id 文件 文件名 路径 "
                       "工单号 作业号 任务id 样本编号 请求编号 题目id 题号 作业id")  # fmt: skip
TEXTS = words_of("message msg text note notes comment comments prompt response completion answer question reason "
                 "status state error description desc details detail info log output content remark remarks "
                 "summary instruction query reference target prediction exit_code exitcode event action cause "
                 "ready nodelist_reason comment_text level_name severity units alias title body reply st flag ok "
                 "result_text finish_reason passed 备注 说明 状态 文本 内容 消息 描述 原因 错误 回答 问题 提示 "
                 "注释 事件 单位 结论 评语 备注说明 结果说明")  # fmt: skip
ADDRESSES = words_of("name ip ip_address address addr pod pod_name run_id exp_id trial_id run_name")
"""Names of identifiers where every row has its own, else of groups."""
VALUES = words_of(
    "value values val score scores result results mean measurement_value 值 数值 分数 得分 结果 取值 均值"
)
"""Names of the measured column of a table in long form."""
MEASURED = words_of("loss acc accuracy score latency throughput norm util utilization memory mem temp temperature "
                    "power rate ratio f1 bleu rouge em ppl perplexity entropy reward kl grad gradient speed "
                    "bandwidth usage used free count mean std stdev min max avg median p50 p90 p95 p99 ttft tpot "
                    "itl e2el stderr var sum total size cost price fps flops mfu hits misses errors time ms sec "
                    "seconds duration percent pct 损失 准确率 得分 延迟 吞吐 显存 利用率 温度 功耗 占用 速度 比例 "
                    "耗时 数量 均值 方差 用时 时延 带宽 评分 率 度")  # fmt: skip
"""Words in the name of a measure that outrank the words of an axis or group beside them."""
COUNTED = words_of("num number count n total max min 总 最大 最小")
"""First words of a name that counts what its other words name."""
NOUNS = words_of("rank host node gpu device shard source dataset task benchmark subject language lang expert "
                 "annotator rater judge model run variant config experiment method stage phase metric hostname "
                 "corpus domain category optimizer policy engine backend step epoch checkpoint ckpt timestamp "
                 "date datetime layer 步数 步 轮数 轮次 节点 主机 模型 任务 语言 数据集 来源 专家 标注员 阶段 "
                 "时间戳 检查点 显卡 设备 指标 学科 方法 版本")  # fmt: skip
"""Words that say what a column is about also where others stand before them."""

RESULTS = words_of("match solved resolved fp fn tn positives negatives "
                   "loss acc accuracy score latency throughput f1 bleu rouge em ppl perplexity reward kl ttft "
                   "tpot itl e2el stderr duration runtime requests tokens utilization util temp power bandwidth "
                   "p50 p90 p95 p99 mean median std errors completed mfu entropy pass hr ndcg mrr recall hit hits wer "
                   "cer auc cider meteor spice chrf comet bertscore ter precision map iou brier ece tpr fpr "
                   "ap mcc kappa miou auroc auprc fscore rmse mae spearman pearson asr "
                   "损失 准确率 得分 延迟 吞吐 显存 利用率")  # fmt: skip
"""Words in the names of results."""
SET = words_of("scale window max min size steps coef weight weights beta warmup decay dropout interval limit "
               "threshold target initial enable use num alpha ratio bucket every")  # fmt: skip
"""Words in the names of settings."""

_BRACKET = bounded(r"^(.{0,120}?)\s{0,4}[(\[（【]([^()\[\]（）【】]{1,24})[)\]）】]\s{0,4}$")
_SLASH = bounded(r"^(.{1,80}?)\s{0,2}[/,，]\s{0,2}([^/,，]{1,12})$")
_LAST = bounded(r"^(.{1,100}?)[_ ](?:in_)?([A-Za-z%°/]{1,8})$")
_SUFFIXES = words_of("ms us ns s sec secs seconds min mins minutes hours hrs h mb mib gb gib kb kib tb tib bytes "
                     "pct percent % w watts kw mhz ghz c celsius tflops tok/s tokens/s tps usd gbps mbps")  # fmt: skip
_PER_SECOND = words_of("s sec")
_RATED = words_of(
    "tok toks token tokens req reqs requests sample samples seq seqs it iter step steps img mb gb mib gib kb row rows"
)
_ONLY_OF = {
    "min": words_of("time duration elapsed runtime wall took uptime age 耗时 用时"),
    "c": words_of("temp temperature gpu"),
    "h": words_of("time duration elapsed runtime gpu"),
    "w": words_of("power pwr draw"),
}
"""Endings that are a unit only behind certain words: `temp_c`, not `loss_min`."""
UNIT_NAMES = {
    "gib": "GiB", "mib": "MiB", "kib": "KiB", "gb": "GB", "mb": "MB", "kb": "KB", "tb": "TB", "pct": "%",
    "percent": "%", "％": "%", "c": "°C", "celsius": "°C", "℃": "°C", "w": "W", "watts": "W", "瓦": "W", "kw": "kW",
    "mhz": "MHz", "ghz": "GHz", "mb/s": "MB/s", "gb/s": "GB/s", "sec": "s", "secs": "s", "seconds": "s", "秒": "s",
    "毫秒": "ms", "分钟": "min", "小时": "h",
}  # fmt: skip
"""One writing of each unit."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PARTS = re.compile(r"[\s_\-./:@]+")


class Name(NamedTuple):
    """A header, taken apart."""

    plain: str
    """Lower case words joined by `_`, without the unit."""
    words: tuple[str, ...]
    unit: str
    """As the header writes it."""
    last: str
    """Of a nested key its last part."""


def _after(text: str, unit: str) -> bool:
    """Whether the ending of a name may be its unit."""
    only = _ONLY_OF.get(unit.lower())
    return not text.endswith("_") and (only is None or not only.isdisjoint(_PARTS.split(_CAMEL.sub("_", text).lower())))


@lru_cache(maxsize=8192)
def name_of(header: str) -> Name:
    """The words and the unit of a header.

    >>> name_of("utilization.gpu [%]"), name_of("显存占用（GB）").unit, name_of("latency_ms").unit
    (Name(plain='utilization_gpu', words=('utilization', 'gpu'), unit='%', last='gpu'), 'GB', 'ms')
    """
    text, unit = header.strip()[:200].rstrip(":："), ""
    match = _BRACKET.match(text)
    if (
        (match and (is_unit(match[2]) or not match[2].strip("0123456789.eE-")))
        or ((match := _SLASH.match(text)) and is_unit(match[2]) and not is_unit(text))
        or ((match := _LAST.match(text)) and match[2].lower() in _SUFFIXES and _after(match[1], match[2]))
    ):
        text, unit = match[1], match[2]
    plain = _CAMEL.sub("_", text).lower() if not text.isupper() else text.lower()
    words = tuple(w for w in _PARTS.split(plain) if w)
    if (
        len(words) > 1
        and unit in _PER_SECOND
        and (words[-1] == "per" or (is_unit(f"{words[-1]}/{unit}") and words[-1] in _RATED))
    ):
        unit = f"{words[-2 if words[-1] == 'per' else -1]}/{unit}"  # tokens_per_s, read_mb_s
    return Name(
        "_".join(words), words, UNIT_NAMES.get(unit.lower(), unit), re.sub(r"\W+", "_", plain.rsplit(".", 1)[-1])
    )


_STEPS = re.compile(r"^(?:learner|trainer|train|global|optimizer|update)_step$")
_COUNTER = bounded(rf"(?:{'|'.join(c for c in COUNTERS if c != 'batch')})")


@lru_cache(maxsize=8192)
def axis_of(header: str) -> str:
    """Kind of axis that the header names, empty for none."""
    name = name_of(header)
    tail = name.plain.rsplit("/", 1)[-1]
    if step_key(name.plain) is not None or step_key(header.strip().lower()) is not None or _COUNTER.fullmatch(tail):
        return "epoch" if tail == "epoch" else "step"
    return _listed(AXES, name) or ("step" if _STEPS.search(usual(name.plain)) and not measured(header) else "")


@lru_cache(maxsize=8192)
def group_of(header: str) -> str:
    """Kind of group that the header names, empty for none."""
    name = name_of(header)
    return _listed(GROUPS, name) or _listed(GROUPS, _usual(name))


def _usual(name: Name) -> Name:
    """The name in the words that most files use."""
    plain = usual(name.plain)
    return name._replace(plain=plain, words=tuple(plain.split("_")), last=usual(name.last))


def _listed(kinds: Mapping[str, frozenset[str]], name: Name) -> str:
    """The kind of a name, or of its end where that is a noun that says enough: `base_model`, `训练节点`."""
    foreign = bool(MEASURED.intersection(name.words) or COUNTED.intersection(name.words[:1]))
    whole = [name.plain, name.plain.replace("_", ""), re.sub(r"_(?:id|name|k|idx|[ab12])$", "", name.plain)]
    ends = ["_".join(name.words[-2:]), name.words[-1] if name.words else "", *(name.plain[-n:] for n in (4, 3, 2, 1))]
    nouns = [] if foreign else [name.last, *(end for end in ends if end in NOUNS)]
    for plain in (*whole, *nouns):
        for kind, names in kinds.items():
            if plain and plain in names:
                return kind
    return ""


def measured(header: str) -> bool:
    """Whether the name is one of something measured."""
    name = name_of(header)
    return metric_of(header) is not None or bool(MEASURED.intersection(name.words)) or any(
        name.plain.endswith(word) for word in MEASURED if not word.isascii()
    )  # fmt: skip


_ROOM = frozenset(("total", "free", "limit", "cap", "available", "capacity", "总"))


@lru_cache(maxsize=8192)
def metric_of(header: str) -> tuple[str, float] | None:
    """Canonical metric of a header and the scale to its unit."""
    name = name_of(header)
    for key in (
        header,
        name.plain,
        header.split(".", 1)[-1],
        f"{name.plain}_sec" if name.words[-1:] == ("per",) else "",
    ):
        hit = canonical(key) if key else None
        if hit and hit[0] != "epoch" and not (hit[0] == "gpu_memory" and _ROOM.intersection(name.words)):
            return hit[0], hit[1]
    said = quantity(name.plain, name.unit)
    return (said, 1.0) if said and said in VOCABULARY else None


def listed(header: str, names: frozenset[str]) -> bool:
    """Whether the header, or its last words, stand in a list."""
    name = name_of(header)
    return any("_".join(words[i:]) in names for words in (name.words, _usual(name).words) for i in (0, -2, -1) if words)


def known(header: str) -> bool:
    """Whether the header is a name that some column is called by."""
    return bool(
        axis_of(header)
        or group_of(header)
        or measured(header)
        or any(listed(header, names) for names in (IDENTIFIERS, TEXTS, VALUES))
    )


def is_result(header: str) -> bool:
    """Whether the name is one of a result, and not of a setting that has such a word in it (`min_loss_scale`)."""
    parts = set(name_of(header).words)
    plain = {part.rstrip("0123456789") for part in parts}  # `bleu4`
    return bool((parts | plain) & RESULTS or metric_of(header)) and not parts & SET
