"""Error signatures of programs that are no Python, of devices that are not used, and of exceptions whose message names
the failure."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import PROGRAM_GONE, S0, S1, S2, Signature

LIBRARIES = r"(numpy|torch|torchvision|transformers|tensorflow|keras|jax|jaxlib|scipy|sklearn|pandas|PIL|datasets|tokenizers|accelerate|peft|trl|deepspeed|bitsandbytes|vllm|triton|flash_attn|xformers|huggingface_hub|pydantic|wandb|gym|cv2|collections|inspect|typing)"
"""Packages whose names and functions change with the version."""

ROWS = (
    Signature(
        "version-mismatch", S0, rf"AttributeError: (partially initialized )?module '{LIBRARIES}(\.[\w.]{{1,80}})?' has no attribute",
        "a package lacks what another one asks of it: their versions do not fit", "一个软件包缺少另一个所需的接口：版本互不匹配",
        ("AttributeError: module 'numpy' has no attribute 'object'.", "AttributeError: module 'torch.library' has no attribute 'register_fake'",
         "AttributeError: partially initialized module 'torchvision' has no attribute 'extension' (most likely due to a circular import)"),
        ("AttributeError: module 'my_model' has no attribute 'Net'", "AttributeError: 'NoneType' object has no attribute 'shape'"),
    ),
    Signature(
        "index-out-of-range", S0, r"IndexError: index out of range in self|IndexError: Target -?\d{1,9} is out of bounds|indices\[[\d, ]{1,40}\] = -?\d{1,12} is not in \[0, ?\d{1,12}\)",
        "an index lies outside of its table: a token past the vocabulary, a label past the classes", "索引越界：token 超出词表，或标签超出类别数",
        ("IndexError: index out of range in self", "IndexError: Target 3 is out of bounds.", "indices[0,5] = 32001 is not in [0, 32000) [[{{node embedding}}]]"),
        ("IndexError: list index out of range",),
    ),
    Signature(
        "data-schema-mismatch", S0, r"KeyError: \"?(None of \[Index|\[?['\"].{1,200}not (found|in index))|did not return a loss from the inputs|[Nn]o columns in the dataset match the model's forward",
        "the records do not have the columns that are asked of them", "数据缺少所需的列",
        ("KeyError: \"None of [Index(['label'], dtype='object')] are in the [columns]\"", "KeyError: \"['label'] not in index\"",
         "ValueError: The model did not return a loss from the inputs, only the following keys: logits. For reference, the inputs it received are input_ids,attention_mask."),
        ("KeyError: 3", "columns: ['label']"),
        must_not=r"metric_for_best_model",
    ),
    Signature(
        "nan-in-forward", S0, r"(Value|Runtime|Assertion|FloatingPoint)Error: .{0,60}(\b[Ll]oss (is|was|became|has become|=) ?(NaN|nan|inf|Inf)|contains (NaN|nan|infinity)\b|contains non-?finite|(NaN|nan)s? (loss|in (loss|logits|output|gradients))\b)|NanLossDuringTrainingError|Model diverged with loss = NaN",
        "the program itself stopped on a non-finite value", "程序自身因非有限值而停止",
        ("ValueError: Input contains NaN.", "AssertionError: loss is nan", "RuntimeError: Loss is NaN or inf", "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss during training."),
        ("raise ValueError('Input contains NaN')", "assert not torch.isnan(loss), 'loss is nan'"),
    ),
    Signature(
        "host-oom", S0, r"java\.lang\.OutOfMemoryError|^(ERROR: LoadError: )?OutOfMemoryError\(\)|srun: error: .{1,80}: Out Of Memory|fatal error: runtime: out of memory|memory allocation of \d{1,20} bytes failed|FATAL ERROR: .{0,80}JavaScript heap out of memory",
        "the host's memory ran out", "主机内存耗尽",
        ("Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space", "ERROR: LoadError: OutOfMemoryError()", "srun: error: node1: task 0: Out Of Memory",
         "fatal error: runtime: out of memory", "memory allocation of 17179869184 bytes failed"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "catch (java.io.IOException e)"),
    ),
    Signature(
        "cuda-oom", S0, r"Out of GPU memory trying to allocate|unable to allocate (CUDA|Vulkan|Metal|ROCm|SYCL)\d{0,3} buffer|ErrorOutOfDeviceMemory|cudaErrorMemoryAllocation",
        "the GPU is out of memory", "GPU 显存不足",
        ("ERROR: Out of GPU memory trying to allocate 1.500 GiB", "error loading model: unable to allocate CUDA0 buffer", "ggml_vulkan: Device memory allocation failed: ErrorOutOfDeviceMemory"),
        ("CUDA0 buffer size = 1024.00 MiB",),
    ),
    Signature(
        "gpu-not-used", S2,
        r"no usable GPU found, --?(gpu-layers|ngl)|not compiled with GPU offload support|failed to initialize CUDA: |Failed to create CUDAExecutionProvider|[Cc]annot use (the )?GPU[.,]? (falling back to|using) (the )?CPU|No GPU/TPU found, falling back to CPU",
        "a GPU was asked for and is not used: it computes on the processor", "要求用 GPU 却没有用上，实际在 CPU 上计算",
        ("warning: no usable GPU found, --gpu-layers option will be ignored", "warning: not compiled with GPU offload support, --gpu-layers option will be ignored",
         "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected", "Failed to create CUDAExecutionProvider. Please reference the CUDA execution provider requirements",
         "WARNING:absl:No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)"),
        ("Could not find cuda drivers on your machine, GPU will not be used.", "offloaded 33/33 layers to GPU", "ggml_cuda_init: found 1 CUDA devices:"),
        lasting=True,
    ),
    Signature(
        "template-refused", S2, r"Jinja Exception: |[Ff]ailed to apply (the )?chat template|[Ee]rror (while |when )?(rendering|applying) (the )?chat template|[Cc]hat template (rendering )?(failed|error)",
        "the chat template refuses a conversation: its roles, their order or their tool calls", "对话模板拒绝了请求：角色、顺序或工具调用不符",
        ("srv  log_server_r: Jinja Exception: Message has tool role, but there was no previous assistant message with a tool call!", "ValueError: Failed to apply chat template: roles must alternate"),
        ("Using chat template from tokenizer_config.json",),
        lasting=True,
    ),
    Signature(
        "checkpoint-load-error", S0, r"error loading model( architecture)?: |error loading model architecture|main: exiting due to model loading error|gguf_init_from_file: (invalid|failed to (read|open))",
        "the checkpoint is missing, damaged or of another shape", "检查点缺失、损坏或形状不符",
        ("llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'qwen3'", "main: exiting due to model loading error",
         "gguf_init_from_file: invalid magic characters: '<!do', expected 'GGUF'"),
        ("llama_model_loader: loaded meta data with 23 key-value pairs",),
    ),
    Signature(
        "disk-nearly-full", S2, r"is over \d{2}% full, available space|[Dd]isk (usage|space)? ?(is )?(at |above |over )?9[0-9](\.\d{1,3})?% ?(full|used)?.{0,40}(warn|low|clean)|[Ll]ow disk space|[Dd]isk is (almost|nearly) full|磁盘(空间)?(即将|快要?)(满|耗尽|写满)|磁盘空间不多",
        "the disk is nearly full: what is written or spilled next may fail", "磁盘快满了：接下来的写入或溢写可能失败",
        ("(raylet) file_system_monitor.cc:116: /tmp/ray/session_1 is over 95% full, available space: 26.6 GB; capacity: 878.6 GB. Object creation will fail if spilling is required.",
         "WARNING: low disk space on /scratch, 3 GB left", "警告：磁盘空间即将耗尽"),
        ("disk: 40% full", "KV cache is over 95% full, preempting", "磁盘空间充足"),
    ),
    Signature(
        "command-missing", S1, r"^(bash|sh|zsh|\S{1,120}\.sh|\S{0,120}slurm_script): (line \d{1,6}: )?(python3?|torchrun|accelerate|deepspeed|conda|srun|mpirun|nvcc|ninja|uv|pip3?): (command )?not found|EnvironmentNameNotFound|EnvironmentLocationNotFound|Your shell has not been properly configured to use 'conda activate'|^.{0,60}\b([Rr]equired|[Nn]ecessary|[Nn]eeded) (commands?|programs?|tools?|binar(y|ies)|executables?)( is| are| was)?( not (found|installed|available)| missing)|^.{0,60}\b[Mm]issing (required )?(command|program|tool|binary|executable|dependency command)s?: ?\S|" + PROGRAM_GONE,
        "the program that was to run is not installed, or its environment is not active", "要运行的程序没有安装，或没有激活所在环境",
        ("bash: python: command not found", "/var/spool/slurmd/job123/slurm_script: line 12: torchrun: command not found", "EnvironmentNameNotFound: Could not find conda environment: llm",
         "Required command not found: yq", "[prolog] missing required tool: enroot", "ERROR: required program is not installed: apptainer",
         "CIDEr computation failed: [Errno 2] No such file or directory: 'java'"),
        ("/etc/profile: line 3: module: command not found", "all required commands found", "the required tool call was made", "FileNotFoundError: [Errno 2] No such file or directory: 'data'"),
    ),
    Signature(
        "uncaught-exception", S1, r"^thread '.{1,80}' panicked at |^panic: |^Exception in thread \"|^ERROR: LoadError: |^Error in .{1,120}\) :|^Unhandled [Ee]xception\. ?System\.|^Uncaught \w{1,40}Error: |^Execution halted",
        "an error ended the program", "程序因错误退出",
        ("thread 'main' panicked at src/main.rs:10:5:", "panic: runtime error: index out of range [3] with length 3", "Exception in thread \"main\" java.lang.IllegalArgumentException: bad shape",
         "ERROR: LoadError: DimensionMismatch", "Error in eval(expr, envir) : object 'x' not found", "Unhandled exception. System.IO.FileNotFoundException: x"),
        ("thread pool started", "Error in step 3: retrying", "panic threshold: 3"),
        role="echo",
    ),
)  # fmt: skip
