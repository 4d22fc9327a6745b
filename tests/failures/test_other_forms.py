"""Failures shown by other forms of evidence than the runs beside this file: tables of trials, dumps of ranks, families of
columns, clocks of media. Each has a run of a rival, or a healthy one, beside it that must stay silent."""

# One record or line of a file per line, however long.
# ruff: noqa: E501

import json
import math

import pytest
from making import fill
from planted import g

from triage.agent.session import ask

WATCHDOG = "[rank{k}]:[E1128 03:14:0{k}.113 ProcessGroupNCCL.cpp:616] [Rank {k}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn={n}, NumelOut={n}, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of 79.33 GiB of which 0.80 GiB is free.\n"
STEPS = "".join(f"step {i} loss {3 - 0.002 * i:.3f}\n" for i in range(100))
FORMS: dict = {}


def table(head: str, *rows) -> str:
    return (
        head + "\n" + "".join(",".join(f"{c:.5g}" if isinstance(c, float) else str(c) for c in r) + "\n" for r in rows)
    )


def form(entry: str, code: str):
    """Enter a builder: with True it shows the entry by this finding, with False the finding stays away."""

    def enter(builder):
        FORMS[builder.__name__] = (entry, code, builder)
        return builder

    return enter


@form("loss-nan-high-lr", "outcome-follows-setting")
def sweep_of_rates(bad):
    ends = ["diverged @ 2210", "diverged @ 3380", "ok", "ok"] if bad else ["ok"] * 4
    rates = ("6e-3", "3e-3", "1.5e-3", "7.5e-4")
    return {"sweep.csv": table("run,peak_lr,warmup,seed,last_loss,status", *([f"a{i}", r, 2000, 17, 2.8, e] for i, (r, e) in enumerate(zip(rates, ends, strict=True))))}  # fmt: skip


@form("checkpoint-load-failure", "head-newly-made")
def a_random_head(bad):
    head = "['lm_head.weight']" if bad else "['score.weight']"
    kind = "ForCausalLM" if bad else "ForSequenceClassification"
    return {"eval.log": f"loading out/step_900\nSome weights of Orion{kind} were not initialized from the model checkpoint at out/step_900 and are newly initialized: {head}\n" + "".join(f"batch {i}/60 ppl {48211.5 if bad else 9.4:.1f}\n" for i in range(60))}  # fmt: skip


@form("warmup-too-short", "outcome-follows-setting")
def ramps_tried(bad):
    return {"对照.csv": table("实验,预热步数,峰值学习率,结果", *([f"e{i}", w, "6e-4", "发散" if bad and w < 500 else "正常"] for i, w in enumerate((50, 200, 1000, 4000))))}  # fmt: skip


@form("precision-overflow", "outcome-follows-setting")
def replays_by_format(bad):
    return {"replay.csv": table("replay,ckpt,dtype,loss", *([i, "s-82", d, "nan" if bad and d == "fp16" else "2.41"] for i, d in enumerate(("fp16", "fp32", "bf16", "fp16", "fp32"))))}  # fmt: skip


@form("oom-activations", "outcome-follows-setting")
def trials_by_size(bad):
    out = (lambda b, s: "OOM" if b * s > 16384 else "ok") if bad else (lambda b, s: "OOM")
    sizes = ((8, 2048), (8, 4096), (4, 4096), (4, 8192), (2, 8192))
    return {"trials.csv": table("attempt,micro_bs,seq_len,outcome", *([i, b, s, out(b, s)] for i, (b, s) in enumerate(sizes))), "last.log": OOM}  # fmt: skip


@form("oom-optimizer-states", "oom-whatever-batch")
def trials_whatever(bad):
    return {"尝试.csv": table("次数,micro_batch,重计算,结果", *([i, b, r, "OOM" if bad or b > 1 else "正常"] for i, (b, r) in enumerate(((8, "否"), (4, "否"), (1, "是"))))), "r0.log": OOM}  # fmt: skip


@form("overfitting", "outcome-follows-setting")
def passes_tried(bad):
    held = (1.51, 1.48, 1.79, 2.63) if bad else (1.51, 1.48, 1.47, 1.47)
    return {"epochs.csv": table("exp,epochs,n_train,train_loss,val_loss", *([f"x{i}", e, 3000, 1.4 / e, v] for i, (e, v) in enumerate(zip((1, 2, 4, 8), held, strict=True))))}  # fmt: skip


@form("noisy-data-mixture", "outcome-follows-setting")
def cleaned_subset(bad):
    full = 3.8 if bad else 2.63
    return {"对照.csv": table("实验,数据,学习率,步数,最终loss", ["A", "全量混合", "3e-4", 20000, full], ["B", "清洗子集", "3e-4", 20000, 2.61], ["C", "全量混合", "1e-4", 20000, full + 0.02], ["D", "全量混合", "6e-4", 20000, full + 0.03])}  # fmt: skip


@form("lr-batch-mismatch", "outcome-follows-setting")
def range_test(bad):
    losses = (3.51, 3.3, 3.12, 2.98, 2.91) if bad else (3.31, 3.1, 2.92, 2.98, 3.21)
    return {"range.csv": table("mult,lr,tokens_B,loss_at_1500", *([m, 3e-4 * m, 10, x] for m, x in zip((0.25, 0.5, 1.0, 2.0, 4.0), losses, strict=True))), "main.yaml": "lr: 3e-4\n"}  # fmt: skip


@form("panic-tuning", "attempts-differ-in-many")
def attempts(bad):
    tries = [["21:02", "3e-4", 1.0, 500, "nan at 310"], ["21:31", "1e-4", 0.5, 2000, "nan at 1200"], ["22:04", "5e-5", 0.1, 4000, "ok so far"]]  # fmt: skip
    one = [["21:02", "3e-4", 1.0, 500, "nan at 310"], ["21:31", "1e-4", 1.0, 500, "ok so far"], ["22:04", "1e-4", 0.5, 500, "ok so far"]]  # fmt: skip
    return {"attempts.csv": table("started,lr,clip,warmup,outcome", *(tries if bad else one))}


@form("collective-mismatch", "ranks-at-different-collectives")
def sizes_in_watchdogs(bad):
    return {"train.stderr": "".join(WATCHDOG.format(k=k, seq=4411, n=26214400 if bad and k == 5 else 2) for k in range(8))}  # fmt: skip


@form("collective-mismatch", "collectives-part-by-rank")
def recorders(bad):
    def entry(k):
        odd = bad and k == 2
        return {"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 210, "profiling_name": "nccl:all_gather" if odd else "nccl:all_reduce", "input_sizes": [[4096]] if odd else [[1]], "state": "scheduled"}  # fmt: skip

    return {f"fr/rank_{k}.json": json.dumps({"version": "2.4", "rank": k, "entries": [entry(k)]}) for k in range(4)}


@form("collective-mismatch", "rank-behind-in-collectives")
def last_collective(bad):
    rows = ([k, f"n{k // 4}", "dp", 8814 if bad and k == 3 else 8821, "allreduce", 26214400] for k in range(8))
    return {"last.csv": table("rank,host,pg,last_enqueued,kind,elems", *rows), "o.log": STEPS + WATCHDOG.format(k=0, seq=8821, n=4)}  # fmt: skip


@form("nccl-hang", "ranks-wait-in-collective")
def stacks(bad):
    top = "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n" if bad else "    forward (model.py:44)\n"
    stack = 'Process {k}: python train.py\nPython v3.11.8\n\nThread {k} (active): "MainThread"\n{top}    main (train.py:311)\n'
    return {**{f"pyspy/r{k}.txt": stack.format(k=3000 + k, top=top) for k in range(8)}, "main.log": STEPS}


@form("network-fault", "link-counters-grow")
def counters_in_one_file(bad):
    rows = ([t, f"node-{h}", f"mlx5_{p}", 3 + m * (431 if bad and (h, p) == (2, 1) else 1), m * (7 if bad and (h, p) == (2, 1) else 0)] for h in range(4) for p in range(2) for t, m in (("09:00", 0), ("12:00", 1)))  # fmt: skip
    return {"ib.csv": table("time,host,hca,symbol_error,link_downed", *rows), "d.log": STEPS + WATCHDOG.format(k=4, seq=3951, n=4)}  # fmt: skip


@form("gpu-load-imbalance", "sign-differs-compute-any-by-stage")
def stages_in_turn(bad):
    times = (210, 212, 209, 533) if bad else (210, 212, 209, 211)
    return {"流水线.csv": table("窗口,stage,计算毫秒", *([w, s, times[s] * (1 + g(w * 4 + s, 0.01))] for w in range(12) for s in range(4))), "train.log": STEPS}  # fmt: skip


@form("precision-overflow", "values-beyond-format")
def extremes_by_layer(bad):
    rise = 4.285 if bad else 0.2
    rows = [[s, 38.0, min(65504.0, 900 * math.exp(rise * (s - 100) / 1200)), 55.0] for s in range(100, 1301, 50)]
    log = "".join(f"iter {s} | loss {2.5 + 8 * math.exp(-s / 300):.4f} | gnorm {0.9 + 0.01 * math.sin(s):.3f}\n" for s in range(50, 1300, 50))  # fmt: skip
    end = "iter 1350 | loss nan | gnorm nan\n" if bad else ""
    return {"act_absmax.csv": table("iteration,embed,blk31.mlp.down_in,head", *rows), "p.out": log + end, "run.yaml": "dtype: float16\n"}  # fmt: skip


@form("unstable-op", "nonfinite-at-op")
def module_named(bad):
    log = "".join(f"第{s}步 损失={2.5 + 8 * math.exp(-s / 100):.3f} 梯度范数={0.8 + 0.01 * math.sin(s):.3f}\n" for s in range(10, 500, 10))  # fmt: skip
    end = "第500步 损失=nan 梯度范数=nan\n首个非有限输出: layers.11.post_attention_layernorm\n第510步 损失=nan 梯度范数=nan\n"
    return {"日志.txt": log + end * bad}


@form("kv-cache-oom", "oom-in-generation")
def cache_update(bad):
    frame = '/py/transformers/cache_utils.py", line 447, in update' if bad else '/py/torch/nn/functional.py", line 3104, in cross_entropy'  # fmt: skip
    return {"c.log": STEPS + f'Traceback (most recent call last):\n  File "/job/e.py", line 51, in run\n    out()\n  File "{frame}\n    x()\n' + OOM}  # fmt: skip


@form("silent-degradation", "group-worsens")
def one_language(bad):
    up = 0.12e-3 if bad else -0.04e-3
    rows = ([s, (2.4 - 1e-5 * s) * (1 + g(s, 0.002)), (8 - 4e-5 * s) * (1 + g(s, 0.004, 1)), (9 - 4e-5 * s) * (1 + g(s, 0.004, 2)), (11 + up * s) * (1 + g(s, 0.004, 3))] for s in range(0, 30000, 1000))  # fmt: skip
    return {"分语言.csv": table("步,总损失,ppl_英,ppl_中,ppl_泰", *rows)}


@form("rvq-level-imbalance", "part-not-learned")
def levels_of_a_model(bad):
    def nll(s, q):
        return (6.93 - 4 * (1 - math.exp(-s / 800)) * (1 if q < 3 or not bad else 0)) * (1 + g(s + q, 0.003))

    return {"lm.csv": table("it," + ",".join(f"nll_q{q}" for q in range(1, 9)), *([s, *(nll(s, q) for q in range(1, 9))] for s in range(0, 6000, 100)))}  # fmt: skip


@form("rvq-level-imbalance", "levels-add-nothing")
def first_levels(bad):
    return {"前k级.csv": table("使用级数,SI-SDR", *([k, 2.1 + 4.2 * (k > 1) if bad else 2.1 + 0.9 * k] for k in range(1, 9)))}  # fmt: skip


@form("codebook-collapse", "sign-falls-codebook-perplexity-0-3-with-rises-dead-codes")
def dead_codes(bad):
    f = (lambda s: math.exp(-s / 2600)) if bad else (lambda s: 1.0)
    rows = ([s, (700 * f(s) + 6) * (1 + g(s, 0.03)), (0.05 + 0.94 * (1 - f(s))) * (1 + g(s, 0.01, 1))] for s in range(0, 9000, 150))  # fmt: skip
    return {"vq.csv": table("步,码本困惑度,死码占比", *rows)}


@form("av-text-desync", "clocks-shifted")
def captions(bad):
    rows = []
    for i in range(90):
        t, off = 10 * i + 3 * g(i, 1), 0.83 if bad and i % 3 == 2 else 0
        rows.append([f"c{i}", ("lectures", "news", "vlog")[i % 3], t, t + off + g(i, 0.03, 1)])
    return {"align.csv": table("clip,channel,caption_start,spoken_start", *rows)}


@form("av-text-desync", "clocks-drift")
def speeds(bad):
    rows = ([f"片{f}", "B站" if f < 3 else "讲座", k * 60 + f, (k * 60 + f) * (1.0427 if bad and f < 3 else 1) + g(k + f, 0.05)] for f in range(6) for k in range(20))  # fmt: skip
    return {"对齐.csv": table("文件,来源,字幕时间,语音时间", *rows)}


@form("av-text-desync", "segments-beyond-media")
def segments(bad):
    rows = ([f"m{i}.wav", "podB" if i % 3 == 0 else "podA", 40.0 + i, 30.0 + i, (40.0 + i) * (1.08 if bad and i % 3 == 0 else 0.99)] for i in range(60))  # fmt: skip
    return {"manifest.csv": table("media,source,media_sec,t_begin,t_end", *rows)}


@form("rope-scaling-misconfig", "rope-differs-between-copies")
def three_configs(bad):
    base = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "max_position_embeddings": 32768}
    return {"train/model_config.json": json.dumps({**base, "rope_theta": 5e6}), "ckpt/config.json": json.dumps({**base, "rope_theta": 1e4 if bad else 5e6})}  # fmt: skip


@form("weight-decay-misconfig", "sign-found-l2-in-adam-and-falls-weight-norm")
def l2(bad):
    name = "Adam" if bad else "AdamW"
    rows = ([s, (3.9 + 3 * math.exp(-s / 300)) * (1 + g(s, 0.004)), (120 + 300 * math.exp(-s / 3000)) * (1 + g(s, 0.003, 1))] for s in range(0, 12000, 100))  # fmt: skip
    return {"opt.py": f"import torch\n\ndef build(model, lr=3e-4):\n    return torch.optim.{name}(model.parameters(), lr=lr, weight_decay=0.2)\n", "曲线.csv": table("步,损失,参数范数", *rows)}  # fmt: skip


@form("data-mixture-drift", "mixture-moved")
def counts_by_window(bad):
    late = {"百科": 0.25, "网页": 0.63, "代码": 0.02, "书籍": 0.10}
    plan = {"百科": 0.25, "网页": 0.45, "代码": 0.20, "书籍": 0.10}
    rows = ([w, s, int((late if bad and w > 10 else plan)[s] * 2e9 * (1 + g(w, 0.005, s)))] for w in range(20) for s in plan)  # fmt: skip
    return {"消费.csv": table("窗口,来源,token数", *rows)}


@form("toxic-data", "toxic-share-rises")
def flagged(bad):
    rows = ([f"2026-02-{w + 1:02d}", s, 5000, int(5000 * (0.07 if bad and s == "forum" and w > 9 else 0.005) * (1 + g(w, 0.1, s)))] for w in range(18) for s in ("forum", "news", "wiki"))  # fmt: skip
    return {"safety_monitor.csv": table("day,feed,n_sampled,n_flagged", *rows)}


@form("data-takedown", "removal-asked-still-there")
def letter(bad):
    rows = ([f"s{i}", f"https://example-press.com/stories/{i}" if i == 4 else f"https://site{i}.org/p", "true" if bad else "false"] for i in range(9))  # fmt: skip
    return {"mail.txt": "We own example-press.com and request the removal of our articles from your training corpus.\n", "manifest.csv": table("shard,url,enabled", *rows)}  # fmt: skip


@form("tokenizer-train-contamination", "tokenizer-trained-on-held-out")
def inputs(bad):
    files = ["/d/web_00.txt", "/d/web_01.txt", "/d/gsm8k_test.txt" if bad else "/d/web_02.txt"]
    return {
        "inputs.txt": "\n".join(files) + "\n",
        "训练分词器.sh": "spm_train --input_list inputs.txt --vocab_size 64000\n",
    }


def seen(folder, name, bad):
    found = ask("what happened here?", [fill(folder / "run", FORMS[name][2](bad))]).diagnosis
    return found, {f.code for f in found.findings}


@form("critic-failure", "sign-below-explained-variance-0-05-with-falls-reward")
def a_critic_that_explains_nothing(bad):
    rows = [
        [
            i,
            3.9 - 0.014 * i + 0.05 * g(i),
            11.9 - 0.04 * i + 0.3 * g(i, 3),
            (-0.1 if bad else 0.72) + 0.02 * g(i, 5),
            0.83 + 0.002 * i,
        ]
        for i in range(1, 170)
    ]
    return {"metrics.csv": table("iter,reward,v_loss,expl_var,entropy", *rows)}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_another_form_of_evidence_shows_the_failure(tmp_path, name):
    entry, code, _ = FORMS[name]
    found, codes = seen(tmp_path, name, True)
    assert code in codes
    assert found.top.entry.id == entry


@pytest.mark.parametrize("name", sorted(FORMS))
def test_without_it_the_finding_stays_away(tmp_path, name):
    entry, code, _ = FORMS[name]
    found, codes = seen(tmp_path, name, False)
    assert code not in codes
    assert not found.top or found.top.entry.id != entry or found.top.status != "established"
