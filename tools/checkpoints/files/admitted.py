"""Which names a pickle of a checkpoint may hold: exact callables and classes, nothing by its module or its spelling.

Tables only. What torch's own `weights_only` loader admits, plain data of Python and numpy, and what training libraries
keep beside weights. Everything else is refused by `pickled`, by name.
"""

from __future__ import annotations

import re


def _names(table: dict[str, str]) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module, names in table.items() for name in names.split())


_KINDS = "Float Double Half BFloat16 Byte Char Short Int Long Bool"
_STORAGES = " ".join(f"{k}Storage" for k in f"{_KINDS} ComplexFloat ComplexDouble".split())
_TENSORS = " ".join(f"{k}Tensor" for k in _KINDS.split())

CALLED = _names({
    "collections": "OrderedDict Counter defaultdict deque",
    "_codecs": "encode",
    "copyreg": "_reconstructor",
    "builtins": "object set dict list tuple int float str bool bytes bytearray complex frozenset slice range",
    "argparse": "Namespace",
    "types": "SimpleNamespace",
    "typing": "Any",
    "enum": "Enum",
    "io": "BytesIO",
    "_io": "BytesIO",
    "datetime": "datetime timedelta date time timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "uuid": "UUID",
    "pathlib": "Path PosixPath WindowsPath PurePath PurePosixPath PureWindowsPath",
    "pathlib._local": "Path PosixPath WindowsPath PurePath PurePosixPath PureWindowsPath",
    "numpy": "ndarray dtype bool bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    " str_ bytes_ datetime64 timedelta64",
    "numpy.core.multiarray": "_reconstruct scalar",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy.core.numeric": "_frombuffer",
    "numpy._core.numeric": "_frombuffer",
    "numpy.random._pickle": "__randomstate_ctor __generator_ctor __bit_generator_ctor",
    "numpy.random._mt19937": "MT19937",
    "numpy.random._pcg64": "PCG64 PCG64DXSM",
    "numpy.random._philox": "Philox",
    "numpy.random._sfc64": "SFC64",
    "numpy.random.bit_generator": "SeedSequence __pyx_unpickle_SeedSequence",
    "numpy.dtypes": "BoolDType Float16DType Float32DType Float64DType Int8DType Int16DType Int32DType Int64DType"
    " UInt8DType UInt16DType UInt32DType UInt64DType",
    "torch": f"Tensor Size device Generator strided contiguous_format preserve_format channels_last {_STORAGES}"
    f" {_TENSORS} QInt32Storage QInt8Storage QUInt8Storage QUInt4x2Storage QUInt2x4Storage UntypedStorage"
    " Float8_e4m3fnStorage Float8_e5m2Storage"
    " float16 float32 float64 bfloat16 bool complex32 complex64 complex128 int1 int2 int3 int4 int5 int6 int7 int8"
    " int16 int32 int64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 uint8 uint16 uint32 uint64 float8_e4m3fn"
    " float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 bits16 bits1x8 bits2x4 bits4x2"
    " bits8 qint32 qint8 quint2x4 quint4x2 quint8 per_tensor_affine per_tensor_symmetric per_channel_affine"
    " per_channel_symmetric per_channel_affine_float_qparams",
    "torch.cuda": f"{_STORAGES} {_TENSORS}",
    "torch.sparse": _TENSORS,
    "torch.cuda.sparse": _TENSORS,
    "torch.nn.parameter": "Parameter Buffer UninitializedParameter",
    "torch.storage": "TypedStorage UntypedStorage",
    "torch.serialization": "_get_layout",
    "torch._tensor": "_rebuild_from_type_v2",
    "torch._utils": "_rebuild_parameter _rebuild_parameter_with_state _rebuild_qtensor _rebuild_tensor"
    " _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_sparse_tensor _rebuild_meta_tensor_no_storage"
    " _rebuild_nested_tensor _rebuild_wrapper_subclass _rebuild_device_tensor_from_numpy"
    " _rebuild_device_tensor_from_cpu_tensor",
    "torch.tensor": "_rebuild_from_type_v2",
    "torch.nested._internal.nested_tensor": "NestedTensor _rebuild_njt",
    "torch.distributed.tensor": "DTensor",
    "torch.distributed.tensor._dtensor_spec": "DTensorSpec TensorMeta ShardOrderEntry",
    "torch.distributed.tensor.placement_types": "Shard Replicate Partial _StridedShard",
    "torch.distributed._tensor.api": "DTensor",
    "torch.distributed._tensor.placement_types": "Shard Replicate Partial DTensorSpec TensorMeta",
    "torch.torch_version": "TorchVersion",
    "torch.distributed._mesh_layout": "_FlatLayout _MeshLayout",
})  # fmt: skip
"""May be called with arguments: they make data of what they are given and do nothing else."""

_TRL = {
    f"trl.trainer.{module}_config": f"{name}Config"
    for module, name in (
        ("sft", "SFT"), ("dpo", "DPO"), ("ppo", "PPO"), ("grpo", "GRPO"), ("kto", "KTO"), ("orpo", "ORPO"),
        ("cpo", "CPO"), ("bco", "BCO"), ("rloo", "RLOO"), ("reward", "Reward"), ("online_dpo", "OnlineDPO"),
        ("prm", "PRM"), ("gkd", "GKD"), ("nash_md", "NashMD"), ("xpo", "XPO"),
    )
}  # fmt: skip
_LIGHTNING = {
    f"{head}.{tail}": names
    for head in ("lightning.pytorch", "pytorch_lightning")
    for tail, names in (
        ("callbacks.model_checkpoint", "ModelCheckpoint"),
        ("callbacks.early_stopping", "EarlyStopping"),
        ("callbacks.timer", "Timer"),
        ("callbacks.lr_monitor", "LearningRateMonitor"),
        ("callbacks.weight_averaging", "WeightAveraging"),
        ("utilities.parsing", "AttributeDict"),
    )
}
HELD = _names({
    "transformers.training_args": "TrainingArguments",
    "transformers.training_args_seq2seq": "Seq2SeqTrainingArguments",
    "transformers.trainer_pt_utils": "AcceleratorConfig",
    "transformers.trainer_callback": "TrainerState TrainerControl ExportableState",
    "transformers.generation.configuration_utils": "GenerationConfig",
    "transformers.configuration_utils": "PretrainedConfig PreTrainedConfig",
    "transformers.integrations.deepspeed": "HfTrainerDeepSpeedConfig HfDeepSpeedConfig",
    "transformers.deepspeed": "HfTrainerDeepSpeedConfig HfDeepSpeedConfig",
    "transformers.tokenization_utils_base": "BatchEncoding",
    **_TRL,
    **_LIGHTNING,
    "lightning.fabric.utilities.data": "AttributeDict",
    "lightning_fabric.utilities.data": "AttributeDict",
    "accelerate.state": "PartialState AcceleratorState GradientState",
    "accelerate.utils.dataclasses": "DeepSpeedPlugin FullyShardedDataParallelPlugin GradientAccumulationPlugin"
    " DataLoaderConfiguration ProjectConfiguration TorchDynamoPlugin MegatronLMPlugin AutocastKwargs GradScalerKwargs"
    " DistributedDataParallelKwargs InitProcessGroupKwargs FP8RecipeKwargs ParallelismConfig",
    "peft.config": "PeftConfig PeftConfigMixin PromptLearningConfig",
    "peft.tuners.lora.config": "LoraConfig LoftQConfig LoraRuntimeConfig EvaConfig CordaConfig",
    "peft.tuners.lora": "LoraConfig",
    "omegaconf.dictconfig": "DictConfig",
    "omegaconf.listconfig": "ListConfig",
    "omegaconf.base": "ContainerMetadata Metadata",
    "omegaconf.nodes": "AnyNode StringNode IntegerNode FloatNode BooleanNode EnumNode BytesNode PathNode",
    "deepspeed.runtime.fp16.loss_scaler": "LossScaler DynamicLossScaler LossScalerBase",
    "deepspeed.utils.tensor_fragment": "fragment_address tensor_fragment",
    "deepspeed.runtime.zero.config": "DeepSpeedZeroConfig",
    "deepspeed.runtime.zero.offload_config": "DeepSpeedZeroOffloadParamConfig DeepSpeedZeroOffloadOptimizerConfig",
    "megatron.core.rerun_state_machine": "RerunErrorInjector QuickStats",
    "megatron.core.dist_checkpointing.mapping": "ShardedTensor ShardedObject LocalNonpersistentObject",
    "megatron.core.dist_checkpointing.core": "CheckpointingConfig",
    "megatron.core.optimizer.optimizer_config": "OptimizerConfig",
    "megatron.core.transformer.transformer_config": "TransformerConfig MLATransformerConfig",
    "torch.amp.grad_scaler": "GradScaler",
    "torch.cuda.amp.grad_scaler": "GradScaler",
    "torch.optim.sgd": "SGD",
    "torch.optim.adam": "Adam",
    "torch.optim.adamw": "AdamW",
    "torch.optim.lr_scheduler": "LambdaLR StepLR MultiStepLR ConstantLR LinearLR ExponentialLR CosineAnnealingLR"
    " CosineAnnealingWarmRestarts OneCycleLR CyclicLR ReduceLROnPlateau PolynomialLR SequentialLR ChainedScheduler",
    "torch.distributed.checkpoint.metadata": "Metadata TensorStorageMetadata BytesStorageMetadata TensorProperties"
    " ChunkStorageMetadata MetadataIndex StorageMeta",
    "torch.distributed.checkpoint.filesystem": "_StorageInfo _StoragePrefix",
    "torch.distributed.checkpoint.planner": "WriteItem ReadItem TensorWriteData BytesIOWriteData",
    "torch.distributed._shard.sharded_tensor.metadata": "TensorProperties ShardedTensorMetadata",
    "torch.distributed._shard.metadata": "ShardMetadata",
    "torch.distributed._shard.sharded_tensor.shard": "Shard",
    "torch.distributed.remote_device": "_remote_device",
    "torch.distributed.device_mesh": "DeviceMesh",
    "torch.nn.modules.activation": "ReLU ReLU6 GELU SiLU Tanh Sigmoid Softmax LogSoftmax LeakyReLU ELU Mish"
    " MultiheadAttention",
    "torch.nn.modules.batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
    "torch.nn.modules.container": "Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "torch.nn.modules.conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d",
    "torch.nn.modules.dropout": "Dropout Dropout1d Dropout2d",
    "torch.nn.modules.linear": "Linear Identity Bilinear NonDynamicallyQuantizableLinear",
    "torch.nn.modules.loss": "CrossEntropyLoss MSELoss L1Loss BCELoss BCEWithLogitsLoss NLLLoss",
    "torch.nn.modules.normalization": "LayerNorm RMSNorm GroupNorm",
    "torch.nn.modules.pooling": "MaxPool1d MaxPool2d AvgPool1d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d",
    "torch.nn.modules.rnn": "RNN LSTM GRU",
    "torch.nn.modules.sparse": "Embedding EmbeddingBag",
    "torch.nn.modules.flatten": "Flatten Unflatten",
    "torch.nn.modules.transformer": "Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder"
    " TransformerDecoderLayer",
    "torch.nn.modules.module": "Module",
})  # fmt: skip
"""Classes of training libraries that hold settings or state: an object of them may be filled with attributes, as
pickles do, but not called, for what their constructors do is another matter (a start of process groups, a folder)."""

ENUMS = _names({
    "transformers.trainer_utils": "IntervalStrategy SaveStrategy EvaluationStrategy HubStrategy SchedulerType"
    " FSDPOption",
    "transformers.training_args": "OptimizerNames ParallelMode",
    "transformers.debug_utils": "DebugOption",
    "transformers.utils.generic": "ExplicitEnum PaddingStrategy TensorType",
    "accelerate.utils.dataclasses": "DistributedType PrecisionType ComputeEnvironment DynamoBackend LoggerType RNGType"
    " SageMakerDistributedType FP8BackendType",
    "peft.utils.peft_types": "PeftType TaskType",
    "omegaconf.base": "SCMode",
    "deepspeed.runtime.zero.config": "ZeroStageEnum",
    "deepspeed.runtime.zero.offload_config": "OffloadDeviceEnum OffloadStateTypeEnum",
    "deepspeed.utils.types": "ActivationFuncType NormType",
    "megatron.core.enums": "ModelType Fp8Recipe",
    "megatron.core.transformer.enums": "ModelType LayerType AttnType AttnMaskType AttnBackend",
    "megatron.model.enums": "ModelType LayerType AttnType AttnMaskType PositionEmbeddingType",
    "megatron.enums": "ModelType LayerType AttnType AttnMaskType PositionEmbeddingType",
    "megatron.legacy.model.enums": "ModelType LayerType AttnType AttnMaskType",
    "megatron.core.rerun_state_machine": "RerunDiagnostic RerunMode RerunState",
    "torch.distributed.checkpoint.metadata": "_MEM_FORMAT_ENCODING",
    "torch.distributed.checkpoint.planner": "WriteItemType LoadItemType",
    "torch.distributed._shard.sharded_tensor.metadata": "MEM_FORMAT_ENCODING",
    "torch.distributed.fsdp.api": "ShardingStrategy StateDictType BackwardPrefetch",
    "torch.amp.grad_scaler": "OptState",
    "torch.cuda.amp.grad_scaler": "OptState",
    "lightning.pytorch.trainer.states": "TrainerFn RunningStage TrainerStatus",
    "pytorch_lightning.trainer.states": "TrainerFn RunningStage TrainerStatus",
})  # fmt: skip
"""Enumerations: called with a value, or asked for a member by `getattr`."""

BASES = frozenset(f"builtins.{name}" for name in ["object", "dict", "list", "tuple", "set", "int", "float", "str"])
"""What `copyreg._reconstructor` may start an object from; another base would have its constructor called."""

DANGEROUS = frozenset((
    "os", "posix", "nt", "subprocess", "sys", "importlib", "runpy", "socket", "shutil", "ctypes", "pty", "code",
    "codeop", "commands", "webbrowser", "pip", "bdb", "pdb", "asyncio", "multiprocessing", "threading", "_thread",
    "signal", "builtins", "operator", "_operator", "functools", "_functools", "timeit", "http", "urllib", "requests",
    "pickle", "_pickle", "dill", "joblib", "cloudpickle", "marshal", "types", "inspect", "ast", "tempfile", "copyreg",
    "_posixsubprocess", "_winapi", "pkgutil", "zipimport", "imp", "doctest", "cProfile",
    "concurrent", "smtplib", "ftplib", "telnetlib", "platform", "distutils", "setuptools", "venv", "ensurepip",
    "idlelib", "lib2to3", "unittest", "sqlite3", "ssl", "xmlrpc", "atexit", "io",
    "_io", "pathlib", "glob", "fileinput", "linecache", "tarfile", "zipfile",
))  # fmt: skip
"""Modules through which a pickle runs code or changes files; what of them is harmless stands in `CALLED`."""
VERBS = re.compile(
    r"(?:^|_)(?:load|loads|exec|eval|system|run|popen|spawn|call|open|compile|import|shell)(?:_|$)|runstring",
    re.IGNORECASE,
)
"""Last parts of dotted names that run or fetch code, in whatever package."""
STARTERS = re.compile(r"subprocess|cpp_extension|(?:^|\.)hub\.|\.getattr$", re.IGNORECASE)
"""What library modules that start processes, build or fetch code have in their names."""
