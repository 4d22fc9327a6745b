"""Error signatures of parts that do not fit each other: a package and the code that imports it, a kernel that is not
there, one card for two processes, a share of an evaluation that is left out."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import S0, S1, S2, S3, Signature

ROWS = (
    Signature(
        "name-not-in-package",
        S0,
        r"cannot import name \S{1,80} from '[\w.]{1,80}' \(\S{1,200}(site|dist)-packages/|cannot import name \S{1,80} from '(transformers|torch|vllm|trl|peft|accelerate|datasets|deepspeed|huggingface_hub|tokenizers|numpy|flash_attn|xformers|triton|pydantic|ray|sglang)[.'\w]|was removed in the NumPy \d|AttributeError: module '(transformers|torch|vllm|trl|peft|accelerate|datasets|deepspeed|numpy|pydantic|triton)[\w.]{0,80}' has no attribute",
        "a package is there and lacks a name that is asked of it: it is another version than the code was written for",
        "软件包已安装但没有代码要用的名称：版本与代码不匹配",
        (
            "ImportError: cannot import name 'LossKwargs' from 'transformers.utils' (/v/lib/python3.11/site-packages/transformers/utils/__init__.py)",
            "AttributeError: `np.Inf` was removed in the NumPy 2.0 release. Use `np.inf` instead.",
            "AttributeError: module 'torch.library' has no attribute 'register_fake'",
        ),
        (
            "ImportError: cannot import name 'load' from 'utils' (/app/utils.py)",
            "ImportError: cannot import name 'A' from partially initialized module 'transformers' (most likely due to a circular import)",
        ),
        must_not=r"partially initialized",
    ),
    Signature(
        "fused-attention-missing",
        S2,
        r"(?i)(flash.?att(entio)?n|xformers|sdpa).{0,60}(not (installed|available|found|supported|usable)|unavailable|missing|undefined symbol|(can'?t|cannot|could ?n[o']t|unable to|failed to) (be )?(import|load|us)\w*|Import ?Error|incompatible|不可用|未安装|加载失败|导入失败).{0,120}(fall|us[ei]|default|switch|回退|改用|退回).{0,40}(eager|naive|math|vanilla|slow|standard|torch|普通|朴素)|fall\w* ?back (to|on) (the )?(eager|naive|math|vanilla)\b.{0,30}att|(fall\w* ?back (to|on)|switch\w* to|回退到?|改用) ?(the )?(attn|attention)\w{0,20} ?[=:] ?['\"]?(eager|naive|math|vanilla)",
        "attention runs without a fused kernel: the program says that none is there",
        "没有可用的融合注意力算子，程序退回到普通实现",
        (
            "Flash Attention 2 is not installed, falling back to eager attention implementation",
            "flash-attn not found, using naive attention",
            "flash_attn 2.7.0 found but undefined symbol: _ZN2at4mulE -- falling back to attn_implementation=eager",
            "xformers could not be imported (built for torch 2.5), switching to attention_backend='math'",
            "[W] flash_attn 加载失败，回退到 eager 实现",
        ),
        (
            "Using flash attention 2",
            "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
            "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
            "attn_implementation=eager",
        ),
        lasting=True,
    ),
    Signature(
        "fused-attention-missing",
        S3,
        r"(?i)not compiled with (memory.efficient|flash) attention",
        "attention runs without a fused kernel: the program says that none is there",
        "没有可用的融合注意力算子，程序退回到普通实现",
        ("UserWarning: 1Torch was not compiled with flash attention. (Triggered internally at sdp_utils.cpp:455.)",),
        ("compiled with flash attention",),
        lasting=True,
    ),
    Signature(
        "part-skipped",
        S1,
        r"(?i)(split|shard|part)\w*( file)? \S{1,200} (not found|missing|does not exist).{0,20}skip\w*|data splitting failed|no result files? (were )?(generated|found)|result\w* merg\w+ failed|skipping GPU \d",
        "a share of an evaluation is left out, and the rest goes on",
        "评测的一部分被跳过，其余照常进行",
        (
            "Warning: Split file ./temp/Office/2.csv not found, skipping GPU 2",
            "Error: Data splitting failed",
            "No result files generated",
            "Result merging failed",
        ),
        ("Splitting test data for GPUs: 0 1 2 3", "4 result files generated"),
        lasting=True,
    ),
    Signature(
        "duplicate-gpu",
        S0,
        r"Duplicate GPU detected",
        "two processes of one group have the same card",
        "同一个进程组里有两个进程占用同一张卡",
        (
            "RuntimeError: NCCL error: invalid usage: Duplicate GPU detected : rank 0 and rank 8 both on CUDA device 1a000",
        ),
        ("no duplicate GPUs",),
    ),
    Signature(
        "num-rollouts-zero",
        S0,
        r"num_rollouts\w{0,30} (is|=|==|was|becomes) 0\b",
        "the batch settings leave no rollout",
        "批大小设置导致没有 rollout",
        ("WARNING Calculated num_rollouts_per_episodes is 0. Forcing to 1.",),
        ("num_rollouts_per_episodes = 8",),
    ),
    Signature(
        "file-missing",
        S0,
        r"(?i)\berror: (test|info|train|eval|data|input|split)\w*( \w+)? file not found",
        "a file does not exist",
        "文件不存在",
        ("Error: Test file not found: ./data/test/Office.csv", "Error: Info file not found: ./info/Office.txt"),
        ("test file found",),
    ),
    Signature(
        "data-empty",
        S1,
        r"(?i)\b(num|number of)[ _](train\w*[ _])?examples\s?[:=]\s?0\s*($|[,;)])|\btrain\w*[ _]files?\s?[:=]\s?0\b",
        "no sample is left to train on",
        "没有可训练的样本",
        ("INFO   Num examples = 0", "train files: 0, num_examples: 0"),
        ("Num examples = 0.5", "Num examples = 1,024", "num eval examples: 0"),
        must_not=r"(?i)eval|valid|test",
    ),
    Signature(
        "head-newly-made",
        S1,
        r"(ForCausalLM|LMHead\w{0,10}|ForConditionalGeneration|ForMaskedLM|Model)\b.{0,300}newly initialized[^\[\n]{0,60}: \[.{0,400}(lm_head|embed_out|output_layer|output_projection)\.weight",
        "the head that makes words was not in the checkpoint and is random: every output is noise",
        "检查点里没有输出词的头（lm_head），它是随机初始化的：输出全是噪声",
        (
            "Some weights of GPTNeoXForCausalLM were not initialized from the model checkpoint at runs/9 and are newly initialized: ['embed_out.weight']",
            "Some weights of T5ForConditionalGeneration were not initialized from the model checkpoint at ./t5 and are newly initialized: ['lm_head.weight', 'shared.weight']",
        ),
        (
            "Some weights of LlamaForSequenceClassification were not initialized from the model checkpoint at m and are newly initialized: ['score.weight']",
            "Some weights of BertForQuestionAnswering were not initialized from the model checkpoint at b and are newly initialized: ['qa_outputs.weight']",
        ),
        lasting=True,
    ),
    Signature(
        "weights-newly-made",
        S3,
        r"(are|were) newly initialized( because the shapes did not match)?: \[.{0,400}(self_attn|mlp|attention|layers?\.\d|embed_tokens|h\.\d)",
        "weights of the body of the model were not in the checkpoint and are random",
        "检查点里没有模型主体的某些权重，它们是随机初始化的",
        (
            "Some weights of LlamaForCausalLM were not initialized from the model checkpoint at c and are newly initialized: ['model.layers.0.mlp.up_proj.weight']",
        ),
        (
            "Some weights of LlamaForSequenceClassification were not initialized from the model checkpoint at m and are newly initialized: ['score.weight']",
        ),
        lasting=True,
    ),
    Signature(
        "weights-newly-made",
        S3,
        r"(?i)\b(kept|left|stay(ed|s)?|remain(ed|s)?) (from|at|as|on|in) (their )?(random )?init\w*\W{1,3}[1-9]\d{1,5}\b"
        r"|\b(loaded|matched|copied|restored)\W{1,3}0 ?(/|of|out of) ?[1-9]\d{1,5}\b.{0,12}(tensor|param|weight|key)"
        r"|(保留|沿用|仍为|保持)(了)?(随机)?初始(化|值)\W{0,3}[1-9]\d{1,5}|(加载|匹配)(了)?\W{0,3}0 ?/ ?[1-9]\d{1,5} ?个?(张量|参数|权重)",
        "weights of the model were not taken from the file and are as they were made",
        "模型的某些权重没有从文件取用，仍是初始值",
        (
            "keys: 412 in file, 412 in model, missing 0, unexpected 0, kept from init 412",
            "load_state: matched 0/338 tensors (strict=False)",
            "加载完成：匹配 0/338 个张量",
        ),
        ("kept from init 0", "matched 338/338 tensors", "加载 338/338 个张量", "left at init: 1"),
        must_not=r"(?i)lora|head|classifier|adapter",
        lasting=True,
    ),
    Signature(
        "weights-newly-made",
        S3,
        r"(?i)\bfall\w{0,3}[ -]?back (to|on) random(ly)?[ -]?init|(回退|退回)(到|为|成)?随机初始化",
        "weights of the body of the model were not taken over and are random",
        "模型主体的某些权重没有被取用，它们是随机初始化的",
        (
            "WARNING - speaker table not in the file, falling back to random initialization of audio_embed",
            "加载视觉塔失败，回退到随机初始化",
        ),
        ("falling back to random init for the value head", "falling back to greedy decoding"),
        must_not=r"(?i)lora|head|classifier|score|adapter|seed",
        lasting=True,
    ),
    Signature(
        "weights-built-otherwise",
        S2,
        r"(?i)\b(weights|checkpoint|ckpt|model|adapter)\b.{0,40}\b(trained|tuned|saved|exported|converted|created)\s(with|using|under)\s.{1,100}\b(but|while|whereas|however)\b.{0,80}\b(config\w*|model|does|doesn't|isn't|without|disabled|uses|has|not)\b|(权重|检查点|模型)[^。]{0,20}(训练|保存|导出|转换)时(使用|采用|启用|用)了?[^。]{1,60}(但|而|却)[^。]{0,40}(没有|未|不|使用|采用)",
        "the weights were made for a model that is built otherwise than the one they are put into: nothing fails, and what it computes is off",
        "权重是为另一种构造的模型训练的：加载不报错，但算出来的东西有偏差",
        (
            "factory.py:372: UserWarning: These pretrained weights were trained with QuickGELU activation but the model config does not have that enabled.",
            "WARNING the checkpoint was saved with tied embeddings, but this model has tie_word_embeddings=False",
            "警告：该权重训练时使用了 RMSNorm，但当前模型配置没有启用",
        ),
        (
            "The model was trained with 8 GPUs but only 4 are there, the model is resharded",
            "checkpoint was saved with torch version 2.1 but this model uses 2.4",
            "The tokenizer was saved with a chat template",
        ),
        must_not=r"(?i)version|gpus?\b|devices?\b|world.?size|process|\branks?\b|precision|dtype|float|\bbf16|\bfp16|版本|显卡|进程|精度",
        lasting=True,
    ),
)
