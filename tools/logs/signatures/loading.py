"""Error signatures of what is fetched, built and loaded before a program does its own work: hubs, native operators,
libraries of the GPU, packages whose versions do not fit."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .refused import HUB
from .signature import S0, S1, Signature

LINKED = r"lib(cuda|cudart|cudnn|cublas|cublasLt|cusparse|cusparseLt|curand|cufft|cusolver|cupti|nvrtc|nvJitLink|nvToolsExt|nccl)\w{0,20}\.so"
"""Libraries that come with CUDA or a wheel of it."""
COMPILER = r"(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|nvcc|hipcc|ninja)(-\d{1,2})?"
BUILT = rf"cannot find -l(cuda|cudart|nvrtc|torch|c10|python|stdc\+\+|aio|cublas|curand)|[Ff]atal error: '?[\w./]{{1,80}}\.(h|hpp|cuh)'?(: | file )[Nn]o(t found| such file)|Failed to find C compiler|MissingCUDAException|CUDA_HOME does not exist|nvcc fatal|Command '\[?'?\S{{0,80}}\b{COMPILER}'.{{0,500}}(returned non-zero|exit status)|error: command '\S{{0,80}}\b{COMPILER}' failed|collect2: error: ld returned"
"""What a compiler or linker says, and who started it: the error names a file, but it is the build that failed."""

ROWS = (
    Signature(
        "op-build-failed", S0, BUILT,
        "an operator that is compiled at run time was not built: compiler, headers or toolkit are missing or do not fit", "运行时编译的算子没有构建成功：编译器、头文件或工具包缺失或不匹配",
        (
            "/usr/bin/ld: cannot find -lcudart: No such file or directory",
            "/tmp/k/main.c:5:10: fatal error: Python.h: No such file or directory",
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable",
            "deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)",
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/a/main.c', '-O3']' returned non-zero exit status 1.",
            "error: command '/usr/local/cuda/bin/nvcc' failed with exit code 1",
            "nvcc fatal   : Unsupported gpu architecture 'compute_90'",
        ),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/a.h5'", "gcc (Ubuntu 11.4.0) 11.4.0", " [WARNING]  async_io: please install the libaio-dev package"),
        must_not=r"\[WARNING\]|[Ff]all(ing)? back",
    ),
    Signature(
        "cuda-version-mismatch", S1, rf"{LINKED}[.\d]{{0,12}}: cannot open shared object|cudaGetDeviceCount\(\)\. Error 80[0-9]|unsupported display driver|nvidia-container-cli: (requirement|initialization) error|has no attribute 'c(quantize|dequantize|gemm|igemm|adam|adamw|lion|get_context|percentile|get_managed)\w{{0,40}}'|NPU function error.{{0,80}}version|CANN version .{{0,60}}(mismatch|not match|incompatible)|Can'?t get ascend_hal device",
        "the libraries of the GPU, the driver and the installed build do not fit together", "GPU 运行库、驱动与安装的构建不匹配",
        ("OSError: libcublas.so.12: cannot open shared object file: No such file or directory", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination",
         "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version", "AttributeError: 'NoneType' object has no attribute 'cget_managed_ptr'"),
        ("Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file; Ignore above cudart dlerror if you do not have a GPU set up on your machine.", "AttributeError: 'NoneType' object has no attribute 'count'"),
        must_not=r"[Ii]gnore above|dlerror",
    ),
    Signature(
        "version-mismatch", S1,
        r"data did not match any variant of untagged enum|is required for a normal functioning of this module, but found|VersionConflict: \(|'(Dynamic|Static|Hybrid|EncoderDecoder)?Cache' object has no attribute|'\w{1,40}Config' object has no attribute '(rope_theta|rope_scaling|rope_parameters|torch_dtype|dtype)'|'\w{1,40}Tokenizer(Fast)?' object has no attribute '(sp_model|sp_tokenizer|tokenizer|mergeable_ranks|IMAGE_ST|_added_tokens_\w{1,20})'",
        "installed versions do not fit each other or the files", "已安装版本彼此或与文件不匹配",
        ("Exception: data did not match any variant of untagged enum PyPreTokenizerTypeWrapper at line 78 column 3", "ImportError: tokenizers>=0.19,<0.20 is required for a normal functioning of this module, but found tokenizers==0.15.2.",
         "pkg_resources.VersionConflict: (torch 2.1.0, Requirement.parse('torch>=2.3'))", "AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'",
         "AttributeError: 'TeleTokenizer' object has no attribute 'sp_model'"),
        ("tokenizers 0.19 is required, found 0.19.1", "AttributeError: 'MyConfig' object has no attribute 'width'", "AttributeError: 'MyTokenizer' object has no attribute 'split_words'"),
    ),
    Signature(
        "hub-unreachable", S0,
        rf"[Dd]ataset '?\S{{1,120}} (doesn't|does not) exist on the Hub|Server Error.{{0,120}}{HUB}|Cannot reach https?://\S{{0,60}}(huggingface|hf-mirror|modelscope)\S{{0,80}}|RevisionNotFoundError|(request )?model: ?\S{{1,80}} does not exist|[Rr]epo \S{{1,80}} not exists? on|modelscope\.hub\.errors\.\w{{1,40}}|CAS service error|passed a gated repo|(ConnectError|ConnectTimeout|RemoteDisconnected|IncompleteRead|ReadTimeoutError).{{0,200}}{HUB}",
        "the hub was not reached, or did not let the program in", "无法访问模型/数据 hub，或没有权限",
        (
            "datasets.exceptions.DatasetNotFoundError: Dataset 'team/held-back' doesn't exist on the Hub or cannot be accessed.",
            "huggingface_hub.errors.HfHubHTTPError: 504 Server Error: Gateway Time-out for url: https://huggingface.co/api/models/x",
            "modelscope.hub.errors.NotExistError: The request model: x/y does not exist!",
            "RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error: Request failed after 5 retries",
        ),
        ("Using the latest cached version of the dataset since team/set couldn't be found on the Hugging Face Hub (offline mode is enabled).", "Fetching 12 files from huggingface.co",
         "tensorflow_datasets.core.registered.DatasetNotFoundError: Dataset pick_cubes not found."),
        must_not=r"(?i)retry(ing)? (in|\d)|will retry|trying to resume|latest cached|cached version",
    ),
    Signature(
        "checkpoint-load-error", S0,
        r"Trying to set a tensor of shape .{1,80}which has shape|Unable to load weights from (pytorch|safetensors|\w{1,20}) checkpoint|does not appear to have files named|RuntimeError: weight \S{1,120} does not exist|state dictionary of the model you are trying to load is corrupted|[Cc]ould not find the metadata file|Cannot find any model weights with",
        "the checkpoint is missing, damaged or of another shape", "检查点缺失、损坏或形状不符",
        ("ValueError: Trying to set a tensor of shape torch.Size([8, 4]) in \"weight\" (which has shape torch.Size([8, 2])), this looks incorrect.", "RuntimeError: Cannot find any model weights with `./out`",
         "OSError: ./out does not appear to have files named ('pytorch_model-00002-of-00002.bin')"),
        ("WARNING: could not find the metadata file out/latest_checkpointed_iteration.txt\n".strip() + " will not load any checkpoints and will start from random",),
        must_not=r"will start from random|WARNING",
    ),
    Signature(
        "version-mismatch", S1, r"Feature type '\w{1,40}' not found\. Available feature types|Loading a streaming dataset cached in a LocalFileSystem",
        "installed versions do not fit each other or the files", "已安装版本彼此或与文件不匹配",
        ("ValueError: Feature type 'List' not found. Available feature types: ['Value', 'ClassLabel']",),
        ("feature types: Value, ClassLabel",),
    ),
    Signature(
        "cuda-version-mismatch", S0, r"could not select device driver .{0,20}with capabilities: \[\[gpu",
        "the build or the driver gives no usable GPU", "构建或驱动没有可用的 GPU",
        ("docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",),
        ("capabilities: [[gpu]]",),
    ),
    Signature(
        "tokenizer-model-unreadable", S1, r"sentencepiece_processor\.cc.{0,20}ParseFromArray|[Ii]nternal: [Cc]ould not parse ModelProto|Error parsing line b'.{0,20}version https://git-lfs",
        "the tokenizer's model file is no such file: cut off, a pointer, or of another format", "分词器的模型文件不是有效文件：不完整、只是指针，或是别的格式",
        ("RuntimeError: Internal: src/sentencepiece_processor.cc(908) [model_proto->ParseFromArray(serialized.data(), serialized.size())]",
         "RuntimeError: Internal: could not parse ModelProto from /w/m/tokenizer.model", "ValueError: Error parsing line b'version https://git-lfs.github.com/spec/v1' in ./tokenizer.model"),
        ("sentencepiece_trainer.cc(178) LOG(INFO) Running command", "SentencePiece model loaded"),
    ),
    Signature(
        "number-too-large-for-half", S1, r"value cannot be converted to type (at::|c10::)?(Half|BFloat16|Float8\w{0,12}|float16)\b.{0,10}without overflow",
        "a number that does not fit into the half type is put into a tensor of it: a constant of a mask, or a value that overflowed", "要写入半精度张量的数超出了该类型的范围：掩码里的常数，或已溢出的值",
        ("RuntimeError: value cannot be converted to type at::Half without overflow: -1e+30", "RuntimeError: value cannot be converted to type c10::Half without overflow"),
        ("RuntimeError: value cannot be converted to type int64_t without overflow", "converted to type at::Half"),
    ),
    Signature(
        "media-tokens-mismatch", S1,
        r"([Ii]mage|[Vv]ideo|[Aa]udio) features and \w{5} tokens do not match|[Mm]ismatch(ed)? (in|between) .{0,60}\b(image|video|audio)\W{1,3}(token|feature|placeholder)|(image|video|audio|multimodal) (tokens?|placeholders?|features?)\b.{0,60}(do(es)? ?n[o']t match|mismatch)|multimodal tokens to \d{1,6} placeholders|[Ff]ound more \S{0,20} ?(image|video|audio) placeholders",
        "the places for images, video or sound in the text are not as many as what was encoded", "文本中图像、视频或音频的占位数与编码得到的数量不一致",
        ("ValueError: Image features and image tokens do not match: tokens: 411, features 412", "ValueError: Video features and video tokens do not match: tokens: 90, features 1800",
         "ValueError: Mismatch in `image` token count between text and `input_ids`. Got ids=[1020] and text=[2040].", "ValueError: Attempted to assign 3 x 576 = 1728 multimodal tokens to 1152 placeholders"),
        ("image tokens: 576", "features match"),
    ),
    Signature(
        "command-missing", S1, r"launcher '\w{1,20}' not installed",
        "the program that was to run is not installed, or its environment is not active", "要运行的程序没有安装，或没有激活所在环境",
        ("RuntimeError: launcher 'pdsh' not installed.",),
        ("launcher 'pdsh' is used",),
    ),
)  # fmt: skip
