"""Error signatures of inference engines: what they need at their start, what they take from a trainer, what they answer
to a request. The words are those of vLLM, SGLang, TGI, TRL and verl."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import S0, S1, S2, Signature

SERVER = r"(vLLM|vllm|SGLang|sglang|TGI|[Rr]ollout|[Ii]nference|[Gg]eneration|[Rr]eward)"
"""What people call a server that a trainer asks."""

ROWS = (
    Signature(
        "engine-init-failure", S0,
        rf"{SERVER}[ -]?([Ss]erver|[Ee]ngine).{{0,80}}(can't be reached|cannot be reached|could not be reached|is (not reachable|unreachable)|(failed to|did not|didn't|does not) (start|respond|come up|become (ready|healthy))|not (ready|healthy|up) after)|[Ss]erver failed to start within|scheduler died during initialization|has no vLLM implementation|Model architectures? .{{1,120}}failed to be inspected|head size \d+ is not supported by|FlashAttention-\d backend for head size|Tokenizer class .{{1,60}} is not supported by (vLLM|SGLang)",
        "the inference engine did not start, or does not answer the trainer", "推理引擎没有启动，或训练端连不上它",
        (
            "ConnectionError: The vLLM server can't be reached at http://10.0.0.9:8000 after 240.0 seconds. Make sure the server is running",
            "RuntimeError: SGLang server failed to start within 900 seconds",
            "TimeoutError: Server failed to start within the timeout period.",
            "ValueError: BarForCausalLM has no vLLM implementation and the Transformers implementation is not compatible with vLLM.",
            "RuntimeError: Rank 1 scheduler died during initialization. Exit code: 1",
        ),
        ("INFO:trl.generation.vllm_client:Server is not up yet. Retrying in 2.0 seconds...", "INFO vllm server is up", "waiting for the rollout server to become ready"),
        must_not=r"[Rr]etry(ing)?\b|not up yet|[Ww]aiting for",
    ),
    Signature(
        "engine-init-failure", S0,
        r"^Error: (ShardCannotStart|WebserverFailed|ShardFailed|DownloadError)|Engine core proc \S{1,40} died unexpectedly|Initialization failed\. .{0,40}error: |WorkerProc failed to start|Worker \S{0,40} ?failed with error .{1,200}check the stack trace above",
        "the inference engine did not start; the reason stands above", "推理引擎没有启动，原因见上文",
        ("Error: ShardCannotStart", "Exception: Call to collective_rpc method failed: Engine core proc EngineCore_0 died unexpectedly, shutting down client.",
         "RuntimeError: Worker failed with error 'x', please check the stack trace above for the root cause"),
        ("Shard ready in 71.2s rank=0", "Worker 0 finished"),
        role="echo",
    ),
    Signature(
        "device-ordinal-invalid", S0,
        r"NotEnoughCUDADevices|only found \d+ (CUDA|GPU|NPU) devices?|required GPUs exceeds the total number of available GPUs|([Nn]umber of |[Nn]um_?|n_)(GPU|gpu|device)s?( per node)? ?:?=? ?\(?\d+\)? (is )?(exceeds|larger than|greater than|more than).{0,40}(available|visible|found)|[Pp]arallel.?size ?\(?\d+\)? .{0,30}(larger|greater|more) than the (number of )?(available|visible) (GPU|gpu|device)|[Dd]evice (ordinal|index|id) ?\d+ (is )?(out of range|not available|exceeds)|device_count\(\) ?\(?\d+\)? ?(<|<=|is less than) ?local_rank|[Mm]ore (processes|ranks|workers) than (available )?(GPU|gpu|device)s|Not enough (GPU|NPU|CUDA device)s? (available|found|visible)|rtSetDevice.{0,40}invalid device|Invalid device ID|MisconfigurationException: You requested gpu",
        "a device is asked for that the process does not see: more are asked for than there are", "要用的设备不可见：请求的设备数多于可见的设备数",
        (
            'Error: NotEnoughCUDADevices("`sharded` is true but only found 2 CUDA devices")',
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.",
            "RuntimeError: Device ordinal 5 is out of range",
            "ValueError: num_gpus (8) is larger than the number of visible devices (4)",
            "RuntimeError: tensor parallel size (8) cannot be larger than the number of available GPUs (4)",
            "ValueError: The number of GPUs per node 8 exceeds available 4",
        ),
        ("found 8 CUDA devices", "using 4 of 8 available GPUs", "number of GPUs: 8 (available 8)"),
        must_not=r"[Ff]alling back|[Uu]sing \d+ instead",
    ),
    Signature(
        "vllm-device-conflict", S1,
        r"Error in memory profiling|release GPU memory while (vLLM|\w+) is profiling|CUDA-capable device\(s\) is/are busy|memory capacity is unbalanced",
        "another process takes or frees memory of the card while the engine measures it", "引擎测量显存时，另一进程在同一张卡上占用或释放显存",
        ("AssertionError: Error in memory profiling. Initial free memory 30.2 GiB, current free memory 61.9 GiB. This happens when other processes sharing the same container release GPU memory",
         "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"),
        ("Memory profiling takes 4.11 seconds",),
    ),
    Signature(
        "engine-sleep-error", S1,
        r"Expandable segments are not compatible with memory pool|[Ss]leep mode (is not supported|can only be used|requires)|torch_memory_saver is not (installed|available|supported)|(release|resume)_memory_occupation.{0,60}(failed|not (enabled|supported))|enable[-_]memory[-_]saver.{0,40}(required|must be)",
        "the inference engine cannot sleep as it was started", "推理引擎以当前方式启动时不能休眠",
        ("AssertionError: Expandable segments are not compatible with memory pool. Please track x for the latest updates.", "ValueError: Sleep mode is not supported on current platform.",
         "AssertionError: Sleep mode can only be used for one instance per process."),
        ("Sleep mode freed 60.1 GiB memory, 2.3 GiB memory is still in use.",),
    ),
    Signature(
        "checkpoint-load-error", S0,
        r"There is no module or parameter named|weights were not initialized from checkpoint|Unrecognized model in .{1,200}model_type|resume from a checkpoint with (a )?different|[Pp]arameter \S{1,120} not found in (the )?model",
        "the checkpoint is missing, damaged or of another shape", "检查点缺失、损坏或形状不符",
        ("ValueError: There is no module or parameter named 'lm_head.bias' in LlamaForCausalLM", "ValueError: Following weights were not initialized from checkpoint: {'visual.merger.mlp.0.weight'}",
         "ValueError: Unrecognized model in ./out. Should have a `model_type` key in its config.json"),
        ("Some weights of BertForX were not initialized from the model checkpoint",),
        must_not=r"Some weights of",
    ),
    Signature(
        "weight-push-failed", S1,
        r"ray::\w{1,60}\.\w{0,40}(update|sync|broadcast|receive|reload)_\w{0,20}(weight|param)s?\w{0,30}\(\)|[Ff]ailed to (update|sync|broadcast|push) (the )?(model )?(weights|parameters) (to|of|in|on) (the )?(rollout|inference|vllm|vLLM|sglang|SGLang|engine)|[Ww]eight (sync|update) (failed|error)",
        "handing the trainer's weights to the inference engine failed", "把训练端的权重交给推理引擎时失败",
        ("ray.exceptions.RayTaskError(KeyError): ray::Worker.sync_rollout_weights() (pid=22, ip=10.0.0.3)", "RuntimeError: Failed to update weights in the engine: shape"),
        ("weight sync finished in 4.1 s", "ray::WorkerDict.actor_rollout_generate_sequences() (pid=2)"),
        role="echo",
    ),
    Signature(
        "context-length-exceeded", S2,
        r"is longer than the model's (maximum )?context|too long to fit into the model|exceeds the maximum allowed (length|input length|context)|[Rr]equested token count exceeds|`?inputs`? tokens \+ `?max_new_tokens`? must be <=|`max_new_tokens` must be <= \d|max_(completion_)?tokens must be at least 1, got -\d|[Ii]nput length of input_ids is \d+, but `?max_length`? is set to|[Pp]rompt is too long|exceed(s|ed)? (the )?(context|max_seq_len|max_total_token_num|max_req_input_len)\b.{0,60}\d",
        "a request or a sample is longer than the window", "请求或样本超过窗口长度",
        ("ValueError: The input (9220 tokens) is longer than the model's context length (8192 tokens).", "ValueError: The decoder prompt (length 9001) is too long to fit into the model (context length 8192).",
         "ValueError: max_tokens must be at least 1, got -312.", "ValueError: Input length (5001 tokens) exceeds the maximum allowed length (4096 tokens)."),
        ("context length: 8192", "maximum allowed length is 4096"),
    ),
    Signature(
        "structured-output-error", S1,
        r"[Gg]rammar is not valid|[Ff]ailed to (convert|parse|build|compile) (the )?(grammar|json[ _]?schema|JSON [Ss]chema|regex|structural tag)|(JSON|json) [Ss]chema .{0,60}(not supported|unsupported)|guided[_ ](decoding|json|regex|grammar).{0,60}(not supported|invalid|failed)",
        "constrained decoding failed", "约束解码失败",
        ("huggingface_hub.errors.ValidationError: Input validation error: grammar is not valid: Grammar must have a 'properties' field",
         "ValueError: Failed to convert the grammar from GBNF to Lark", "ValueError: The provided JSON schema contains features not supported by xgrammar."),
        ("grammar compiled in 0.2 s",),
        must_not=r"[Ff]all(ing)? back|deprecated",
    ),
    Signature(
        "template-refused", S0,
        r"default chat template is no longer allowed|[Cc]hat template .{0,60}(is not (defined|set|found)|does not exist)|The supplied chat template .{1,80}(looks like a file path|was not found)",
        "the chat template is missing or does not take these messages", "对话模板缺失，或不接受这些消息",
        ("ValueError: As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one.",),
        ("Using supplied chat template: None", "No chat template is defined for this tokenizer - using the default template for the LlamaTokenizerFast class."),
        must_not=r"using (the|a) default",
    ),
    Signature(
        "engine-init-failure", S0,
        r"Ray does not allocate any GPUs on the driver|[Ff]ailed to create context with model|cache quantization requires flash_?attn|failed to create llama_context|Current node has no GPU available|LoRA rank \(?\d+\)? is greater than max_lora_rank|[Uu]nsupported architectures?: |(ForCausalLM|ForConditionalGeneration|[Mm]odel \S{1,60}) (does not support LoRA|is not implemented in TGI)|VLLM_USE_V1=1 is not supported|is only supported for multimodal models|think_end_token .{1,40} must encode to exactly one token",
        "the inference engine refuses the model or a setting at its start", "推理引擎启动时拒绝该模型或某个设置",
        ("common_init_from_params: failed to create context with model '/m/kestrel-q4.gguf'", "llama_init_from_model: V cache quantization requires flash_attn",
         "ValueError: LoRA rank 64 is greater than max_lora_rank 16.", "ValueError: Current node has no GPU available. current_node_resource={'CPU': 8.0}.", "RuntimeError: Unsupported architectures: FooForCausalLM. Supported list: x"),
        ("max_lora_rank=16", "supported architectures: LlamaForCausalLM"),
    ),
    Signature(
        "context-length-exceeded", S0, r"context_length \(\d+\) is greater than the derived context_length",
        "the window that is asked for is longer than the model's positions", "要求的窗口超过模型的位置数",
        ("ValueError: User-specified context_length (131072) is greater than the derived context_length (32768).",),
        ("context_length=32768",),
    ),
    Signature(
        "kv-cache-oom", S0, r"(Prefill|Decode) out of memory\. Try|[Nn]o enough memory for (the )?(kv )?cache|exceeds KV cache capacity|[Nn]ot enough (GPU )?memory (left )?for (the )?(KV|kv) cache",
        "no GPU memory is left for the KV cache", "没有显存留给 KV cache",
        ("RuntimeError: Decode out of memory. Try to lower your batch size.", "RuntimeError: Loading the model took all memory. No enough memory for cache"),
        ("Decode out of memory happened. #retracted_reqs: 1", "KV cache memory: 12 GiB", "Sequence group 3 is preempted because there is not enough KV cache space"),
    ),
    Signature(
        "requests-refused", S2,
        r"(?i)(request|query|call|completion|prompt|warm-?up|请求|调用)\s?(\S{1,20}\s)?(failed|error|失败|出错).{0,200}(connection refused|ECONNREFUSED|Errno (61|111)\b|actively refused|拒绝连接|连接被拒)",
        "requests were refused: nothing listened at that address any more, or not yet", "请求被拒绝连接：该地址上没有服务在监听",
        ("  x Request failed: <urlopen error [Errno 61] Connection refused>", "ERROR request 17 failed: connect ECONNREFUSED 127.0.0.1:8080", "第 3 次请求失败: [Errno 111] 连接被拒绝"),
        ("Request failed: 429 Too Many Requests", "health request failed: Connection refused, retrying in 2 s", "connection refused by peer, waiting for the server"),
        must_not=r"(?i)retry|wait|health|ready|poll|重试|等待",
    ),
)  # fmt: skip
