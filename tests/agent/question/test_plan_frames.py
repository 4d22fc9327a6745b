"""Plans in the frames that people use, crossed with settings and directions; and the same words where nobody plans."""

import pytest

from triage.agent.question.understand import understand

ALIKE = ({"set", "enable", "do"}, {"remove", "disable"})
"""Directions that say the same of one variable."""

NUMBERS = {
    "learning_rate": "lr/the LR/the learning rate|学习率/lr",
    "min_learning_rate": "min_lr/the minimum learning rate|最小学习率",
    "warmup_steps": "warmup/the warm-up/num_warmup_steps|预热/warmup步数",
    "weight_decay": "weight decay/wd/weight_decay|权重衰减/wd",
    "grad_clip": "grad clip/max_grad_norm/the clipping threshold|梯度裁剪阈值/裁剪阈值",
    "grad_accumulation": "gas/grad accum/gradient_accumulation_steps/accumulation|梯度累积/累积步数",
    "micro_batch_size": "mbs/micro batch/the per-device batch|微批大小/单卡batch",
    "global_batch_size": "bs/the batch size/gbs/global_batch_size|批大小/batch size/总batch",
    "sequence_length": "seq len/ctx len/the context length/max_seq_len/cutoff_len|序列长度/上下文/最大长度",
    "max_response_length": "max_new_tokens/the response length/max_tokens|回复长度/生成长度",
    "max_model_len": "max_model_len|max_model_len",
    "gpu_memory_utilization": "gpu_memory_utilization/gpu mem util|显存占用比例/显存利用率",
    "max_num_seqs": "max_num_seqs/concurrency|并发数/max_num_seqs",
    "kl_coef": "kl_coef/the KL coefficient/the kl penalty|KL系数/kl惩罚",
    "entropy_coef": "the entropy bonus/entropy_coeff|熵系数/熵正则",
    "dpo_beta": "beta/dpo_beta|beta",
    "rollout_temperature": "temperature/temp/the sampling temperature|温度/采样温度",
    "repetition_penalty": "repetition_penalty/rep penalty|重复惩罚",
    "num_generations": "num_generations/the group size/n_samples_per_prompt|组大小/每个prompt的采样数",
    "epochs": "epochs/n_epochs/num_train_epochs|epoch数/训练轮数",
    "max_steps": "max_steps/the number of steps|训练步数/总步数",
    "loss_scale": "the loss scale/loss_scale|loss scale",
    "zero_stage": "the ZeRO stage/zero_stage|ZeRO阶段",
    "tensor_parallel": "TP/tensor_parallel_size/tensor parallelism|TP/张量并行",
    "pipeline_parallel": "PP/pipeline_parallel_size|流水线并行",
    "context_parallel": "context_parallel_size/context parallelism|上下文并行",
    "num_workers": "num_workers/dataloader workers|num_workers/worker数",
    "save_steps": "save_steps/the checkpoint interval|保存间隔",
    "eval_steps": "eval_steps/the eval interval|评测间隔",
    "lora_rank": "lora_rank/the LoRA rank/lora r|lora秩/lora_rank",
    "lora_alpha": "lora_alpha/alpha|lora_alpha",
    "adam_beta2": "beta2/adam_beta2|beta2",
    "adam_epsilon": "adam eps/adam_epsilon|adam_epsilon",
    "nccl_timeout": "the nccl timeout/ddp_timeout|nccl超时/超时时间",
    "rope_theta": "rope_theta/the rope base|rope_theta",
    "rope_scaling_factor": "the rope scaling factor|rope缩放系数",
    "reward_clip": "the reward clip/reward_clip|奖励裁剪",
    "clip_range": "clip_range/clip_eps/cliprange|clip_range",
    "dropout": "dropout/lora_dropout|dropout",
    "top_p": "top_p|top_p",
    "label_smoothing": "label smoothing|标签平滑",
    "rollout_batch_size": "rollout_batch_size/the rollout batch|rollout批大小",
}
SWITCHES = {
    "activation_checkpointing": "grad ckpt/gradient checkpointing/activation checkpointing|梯度检查点/激活重计算",
    "flash_attention": "FA2/flash attention/flash-attn|FA2/flash attention",
    "offload_optimizer": "optimizer offload/cpu offload/offloading|offload/优化器卸载",
    "packing": "packing/sample packing|packing/样本打包",
    "pin_memory": "pin_memory/pinned memory|pin_memory/锁页内存",
    "grad_clip": "gradient clipping/grad clip|梯度裁剪",
    "weight_decay": "weight decay|权重衰减",
    "kl_coef": "the KL penalty/the kl term|KL惩罚",
    "enable_prefix_caching": "prefix caching|前缀缓存",
    "dropout": "dropout|dropout",
    "precision": "bf16/mixed precision/autocast|bf16/混合精度",
    "torch_compile": "torch.compile/compile|torch.compile",
    "advantage_normalization": "advantage normalization/adv whitening|优势归一化",
    "sequence_parallel": "sequence parallelism|序列并行",
    "quantization": "load_in_4bit/quantization|量化",
    "label_smoothing": "label smoothing|标签平滑",
    "ema": "EMA|EMA",
    "shuffle": "shuffling|shuffle",
    "nccl_p2p_disable": "nccl p2p|p2p",
    "early_stopping": "early stopping|早停",
}
FRAMES = {
    ("raise", "en"): """
        bump {x}? / gonna crank up {x} / should i crank {x} to 64 / worth increasing {x}? / would a higher {x} help?
        let's go higher on {x} / thinking of upping {x} / can i push {x} higher / what about twice {x}? / {x} x2?
        I'd dial up {x} / let me raise {x} / {x} up? / planning to bump up {x} / try a larger {x} / double {x}, ok?
        jack up {x} and see / maxing out {x} tonight / go from 2 to 8 on {x}? / {x} from 2 to 8, sane? / 4x {x}?
        lemme ramp {x} up / might need more {x} / we want to increase {x} next run / would it help to boost {x}
        """,
    ("lower", "en"): """
        lower {x}? / gonna slash {x} / should i cut {x} in half / worth decreasing {x}? / would a lower {x} help?
        let's ease off {x} / thinking of dialing back {x} / can i bring {x} down / half {x}? / {x} from 8 to 2, sane?
        I'd shrink {x} / let me reduce {x} / {x} down? / planning to trim {x} / try a smaller {x} / halve {x}, ok?
        squash {x} and see / knocking {x} down tonight / dial {x} down a notch / we will scale {x} back
        back off on {x}?
        taking {x} down to 2 / would it help to lower {x}
        """,
    ("set", "en"): """
        set {x} to 4 / {x}=4? / {x} = 4, ok? / go with {x} 4? / how about {x} at 4 / changing {x} to 4
        gonna tweak {x} / should {x} be 4? / I want {x} at 4 / what if {x} were 4? / {x} to 4, thoughts? / try {x} 4
        flip {x} to 4 / let's put {x} at 4 / use {x}=4 / what about {x} of 4? / rerun with {x} 4
        i'd run it with {x}=4
        planning on {x} 4 next / keep {x} at 4? / let's try {x}: 4
        """,
    ("enable", "en"): """
        enable {x}? / turn on {x} / gonna switch {x} on / flip {x} on tonight / worth trying {x}? / would {x} help?
        add {x}? / i'll throw in {x} / how about {x}? / let's use {x} / what about {x}? / {x} on? / toggle {x} on
        should we turn {x} back on / activate {x} / does it make sense to use {x}? / going with {x} / let me try {x}
        rerun with {x} on / give {x} a shot?
        """,
    ("disable", "en"): """
        disable {x}? / turn off {x} / gonna switch {x} off / flip {x} off tonight / kill {x}? / nuke {x}
        ditch {x}? / i'll get rid of {x} / what about no {x}? / let's go without {x} / {x} off? / axe {x}
        drop {x} entirely
        should we turn {x} off / no more {x} / rip out {x} / run it without {x}? / i want {x} off
        let me try without {x}
        shut off {x}? / toss {x} / scrap {x}, fine? / rerun with {x} off / remove {x}? / stop using {x}
        """,
    ("raise", "zh"): """
        把{x}调大行吗 / {x}调高一点？ / 想把{x}翻倍 / 要不要加大{x} / {x}往上调调试试 / 准备提高{x} / {x}拉高点行不行
        我打算增大{x} / {x}从2加到8 / 要不{x}加倍 / {x}再大点试试？ / 把{x}提上去 / 将{x}上调 / {x}拉满吧
        把{x}升到64
        """,
    ("lower", "zh"): """
        把{x}调小行吗 / {x}调低一点？ / 想把{x}减半 / 要不要减小{x} / {x}往下调调试试 / 准备降低{x} / {x}压低点行不行
        我打算缩小{x} / {x}从8降到2 / 要不{x}砍半 / {x}再小点试试？ / 把{x}降下来 / 将{x}下调 / 把{x}压到2
        把{x}砍一半
        """,
    ("set", "zh"): """
        把{x}设成4 / {x}改成4行吗 / {x}=4试试 / 想把{x}调到4 / 将{x}设置为4 / {x}换成4怎么样 / {x}用4可以吗
        打算把{x}改为4 / {x}给4行不行 / {x}设4吧 / 要不{x}改4 / 把{x}定在4
        """,
    ("enable", "zh"): """
        开{x}行吗 / 打开{x} / 要不要上{x} / 准备启用{x} / 把{x}打开 / 加个{x}试试 / 想用{x} / {x}开起来？ / 把{x}加上
        试试{x}？ / 将{x}开启 / 要不开一下{x} / {x}要不要开
        """,
    ("disable", "zh"): """
        关{x}行吗 / 关掉{x} / 要不要去掉{x} / 准备停用{x} / 把{x}关了 / 不开{x}试试 / 想取消{x} / {x}关掉吧
        把{x}去了
        不用{x}了行吗 / 将{x}关闭 / 要不先关一下{x} / {x}要不要关 / 把{x}砍掉 / 干脆不要{x}了
        """,
}
OTHERS = {
    "data": """
        toss the bad shard / nuke those samples? / filter out the long rows / ditch that batch and go on
        drop the duplicates
        blacklist shard 14 / should i skip the next 300 batches / let's prune the noisy samples / dedup the corpus?
        weed out the empty records / let's throw that file away / 把脏数据删了 / 把那批数据滤掉 / 剔除重复样本
        跳过那个batch行吗
        把坏样本去掉 / 去重试试 / 清洗一下数据 / 把那个分片扔了 / 那几条样本删掉吧 / 这批数据不要了
        """,
    "checkpoint": """
        roll back to step 4000 / resume from the last ckpt? / go back to ckpt 12k / reload the step-6000 checkpoint
        restore from 8k
        fall back to the previous checkpoint / rewind to 3k steps / load the older checkpoint and go on
        pick up from ckpt 5000
        回退到8000步 / 从上一个ckpt续训 / 回滚到旧的检查点 / 退回到4万步 / 加载之前的checkpoint接着训 / 从5k恢复
        """,
    "run": """
        restart? / kill it and start over / should i just stop the job / relaunch the whole thing? / let it run?
        pull the plug?
        abort the run / bounce the server / start fresh? / nuke the run and start over / keep it running overnight?
        重启试试 / 要不要停掉 / 直接杀了重跑 / 从头训一遍行吗 / 接着跑可以吗 / 再跑一遍 / 先停了吧 / 重新来一遍吧
        """,
    "library": """
        upgrade vllm / pin transformers at 4.44 / downgrade torch to 2.3? / bump vllm to 0.8
        roll transformers back to 4.44
        update deepspeed / should i go back to trl 0.9 / swap in an older torch
        revert to vllm 0.6
        升级vllm / 把torch降到2.3 / 把transformers退回4.44 / 重装deepspeed试试 / vllm换个版本 / 锁定trl版本
        torch升到2.5
        """,
    "hardware": """
        swap the node / drain gpu-17 / cordon node 5? / take node 12 out of the pool / kick that host out
        replace the bad gpu
        reboot the machine / exclude node 7 from the job / add more nodes / 换台机器 / 把节点5踢掉 / 换卡
        隔离那个节点 / 重启机器
        """,
    "seed": """
        rerun with another seed / try a different seed / change the seed / seed=7? / swap seeds / new seed?
        换个种子 / 种子改成7
        """,
    "optimizer": """
        switch to adafactor / try Lion? / swap adamw for muon / use 8bit adam / change the optimizer / 换成adafactor
        优化器换成Lion
        """,
    "precision": """
        switch to bf16 / go bf16 / train in fp32? / move to fp32 / cast to float32 / 换成bf16 / 用fp32跑 / 切到bf16
        精度换成fp32
        """,
    "lr_schedule": "switch to a cosine schedule / use a linear schedule / try wsd? / 改用cosine调度 / 调度换成linear",
    "zero_stage": "switch to ZeRO-3 / go zero3? / move to zero 2 / use ZeRO-1 / 上ZeRO-3 / 换成zero2 / 开zero3",
    "code": "revert the refactor / roll back that commit / patch the loss code / 把那个提交回退掉 / 改一下loss的代码",
    "chat_template": "fix the chat template / change the template / swap the chat template / 换个对话模板 / 改一下模板",
    "freeze": "freeze the embeddings / unfreeze the vision tower / 冻结embedding / 把视觉塔冻住",
    "lora_rank": "rank 8 instead of 64? / use r=64 / lora rank to 128",
    "tokenizer": "swap the tokenizer / retrain the tokenizer / 换个分词器",
    "reward": "swap the reward model / retrain the RM / fix the reward function / 换个奖励模型 / 改一下奖励函数",
}
NO_PLANS = """
    I bumped {x} yesterday / we already tried a lower {x} / changing {x} did nothing
    {x} was doubled last week and nothing changed
    Don't touch {x} / what does {x} do? / someone changed {x} before the crash / we had set {x} to 4
    after I cut {x} it diverged
    what is {x}? / {x} is 4 / i will not touch {x} / {x} looks fine / a colleague raised {x} a month ago
    we never use {x}
    the framework sets {x} by default / we have {x} on / we're running with {x}=4 and it crashes
    it crashes with {x} at 4
    {x}是什么 / 我昨天改了{x}没用 / {x}已经调低了 / 不想动{x} / {x}没问题 / 别动{x} / 改过{x}了还是炸 / {x}现在是4
    同事上周调过{x}
    """


def _split(frames):
    return [f.strip() for line in frames.strip().splitlines() for f in line.split(" / ") if f.strip()]


def crossed(table, ways, languages=("en", "zh")):
    """Every frame once or more, with the names of the table in turn."""
    for way in ways:
        for place, lang in enumerate(languages):
            names = [(v, n) for v, said in table.items() for n in said.split("|")[place].split("/")]
            frames = _split(FRAMES[way, lang])
            for i in range(max(len(frames), len(names))):
                variable, name = names[(i * 7) % len(names)]
                yield frames[i % len(frames)].format(x=name), variable, way


def _right(text, variable, way):
    found = {p.variable: p.direction for p in understand(text).plans}
    return found.get(variable) == way or any({found.get(variable), way} <= group for group in ALIKE)


@pytest.mark.parametrize(
    ("text", "variable", "way"),
    [*crossed(NUMBERS, ("raise", "lower", "set")), *crossed(SWITCHES, ("enable", "disable"))],
)
def test_a_frame_around_a_setting_is_a_plan(text, variable, way):
    assert _right(text, variable, way), understand(text).plans


@pytest.mark.parametrize(("text", "variable"), [(t, v) for v, said in OTHERS.items() for t in _split(said)])
def test_other_things_are_planned_too(text, variable):
    assert variable in {p.variable for p in understand(text).plans}


def _unplanned():
    names = list(NUMBERS.values())
    for i, frame in enumerate(_split(NO_PLANS)):
        for k in range(3):
            said = names[(i * 3 + k) % len(names)].split("|")[not frame.isascii()]
            yield frame.format(x=said.split("/")[0])


@pytest.mark.parametrize("text", list(_unplanned()))
def test_the_same_words_plan_nothing_when_nobody_will_act(text):
    assert understand(text).plans == ()
