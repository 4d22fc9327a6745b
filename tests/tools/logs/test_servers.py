"""Logs of inference servers, drivers and schedulers: silent when all is well, and the fault by its name."""

# One line of a log per line, however long.
# ruff: noqa: E501
# fmt: off

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import scan

VL = "(EngineCore_DP0 pid=212) INFO 03-02 10:{:02d}:43 [loggers.py:236] Engine 000: Avg prompt throughput: 1069.7 tokens/s, Avg generation throughput: 3562.1 tokens/s, Running: 126 reqs, Waiting: 0 reqs, GPU KV cache usage: 36.4%, Prefix cache hit rate: 0.0%\n"
SPEC = "INFO 03-02 18:03:41 [metrics.py:53] SpecDecoding metrics: Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens\n"
START = "INFO:     Started server process [1]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete.\n"
SG = "[2026-04-01 10:{:02d}:11 TP0] Decode batch. #running-req: 45, #token: 10101, token usage: 0.61, cuda graph: True, gen throughput (token/s): 812.22, #queue-req: 2\n"
TGI = '2026-03-02T10:{:02d}:11.123456Z  INFO completions{{total_time="2.1s" validation_time="1ms" queue_time="35us" inference_time="2.1s" time_per_token="21ms" seed="None"}}: text_generation_router::server: router/src/server.rs:402: Success\n'
LCPP = "srv  update_slots: all slots are idle\nslot print_timing: id  0 | task 12 | \nprompt eval time =     120.12 ms /   210 tokens (    0.57 ms per token,  1748.25 tokens per second)\n       eval time =    2120.12 ms /   128 tokens (   16.56 ms per token,    60.37 tokens per second)\n"
TRT = "[TensorRT-LLM][INFO] {{\"Active Request Count\":12,\"Iteration Counter\":{},\"Max Request Count\":64,\"Runtime CPU Memory Usage\":4716,\"Runtime GPU Memory Usage\":2121512,\"Free KV cache blocks\":812,\"Used KV cache blocks\":212}}\n"
LMD = "[TM][INFO] [Forward] [0, 12), dc=12, pf=0, sum_q=12, sum_k={}00\n"


def many(line, n=20):
    return "".join(line.format(i) for i in range(n))


HEALTHY = {
 "vllm": START+many(VL)+SPEC*3+'INFO:     10.0.0.1:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
 "sglang": "[2026-04-01 10:22:01] The server is fired up and ready to roll!\n"+many(SG),
 "tgi": "2026-03-02T10:00:01.1Z  INFO text_generation_router: Connected\n"+many(TGI),
 "llama.cpp": "main: server is listening on http://0.0.0.0:8080 - starting the main loop\n"+LCPP*10,
 "trtllm": many(TRT), "lmdeploy": "INFO:     Uvicorn running on http://0.0.0.0:23333\n"+many(LMD),
 "dmesg": "[    0.000000] Linux version 5.15.0\n[   12.345678] nvidia: loading out-of-tree module taints kernel.\n[   13.1] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15\n[  100.1] nvidia-uvm: Loaded the UVM driver\n",
 "k8s-events": "LAST SEEN   TYPE     REASON      OBJECT            MESSAGE\n2m          Normal   Scheduled   pod/sft-worker-0  Successfully assigned ml/sft-worker-0 to gpu-17\n2m          Normal   Pulled      pod/sft-worker-0  Container image already present\n2m          Normal   Started     pod/sft-worker-0  Started container trainer\n",
 "slurm": "srun: job 123456 queued and waiting for resources\nsrun: job 123456 has been allocated resources\nsubmitit INFO (2026-03-02 10:00:00,123) - Job completed successfully\n",
}
FAULT = {
 "vllm-preempt-v0": ("WARNING 05-09 00:49:33 scheduler.py:1057 Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. total_cumulative_preemption_cnt=1\n","kv-cache-pressure"),
 "sglang-retract": (many(SG)+"[2026-04-01 10:25:12 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 12, #new_token_ratio: 0.5981 -> 0.9002\n","kv-cache-pressure"),
 "sglang-crash": (many(SG)+"[2026-04-01 10:25:21 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/opt/sglang/srt/managers/scheduler.py\", line 2012, in run_scheduler_process\n    scheduler.event_loop_overlap()\nKeyError: 'abc'\n","engine-crash"),
 "sglang-init": ("[2026-04-01 10:22:01 TP0] Load weight begin. avail mem=78.5 GB\n[2026-04-01 10:25:21 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/opt/sglang/srt/managers/scheduler.py\", line 2012, in run_scheduler_process\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n","kv-cache-oom"),
 "llamacpp-kv": (LCPP*3+"srv  update_slots: failed to find free space in the KV cache, retrying with smaller batch size, i = 0, n_batch = 512, ret = 1\n","kv-cache-pressure"),
 "llamacpp-decode": (LCPP*3+"decode: failed to find a memory slot for batch of size 512\nllama_decode: failed to decode, ret = -3\nsrv  update_slots: Compute error. i = 0, n_batch = 512, ret = -3\n","engine-crash"),
 "llamacpp-load": ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\nllama_model_load_from_file_impl: failed to load model\nmain: exiting due to model loading error\n","cuda-oom"),
 "tgi-oom": ("2026-03-02T10:00:01.1Z  INFO text_generation_launcher: Starting shard\n2026-03-02T10:00:05.1Z ERROR warmup{max_input_length=4096}: text_generation_client: router/client/src/lib.rs:33: Server error: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\nError: Warmup(Generation(\"Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\"))\n","kv-cache-oom"),
 "tgi-shard": ("2026-03-02T10:00:05.1Z ERROR shard-manager: text_generation_launcher: Shard complete standard error output: rank=0\n2026-03-02T10:00:05.1Z ERROR text_generation_launcher: Shard 0 failed to start\n","engine-init-failure"),
 "trtllm-kv": ("[TensorRT-LLM][ERROR] Cannot process new request: [TensorRT-LLM][ERROR] Assertion failed: Can't free KV cache blocks (/src/kvCacheManager.cpp:512)\n[TensorRT-LLM][ERROR] Encountered an error in forward function: [TensorRT-LLM][ERROR] CUDA runtime error in cudaMallocAsync: out of memory\n","cuda-oom"),
 "lmdeploy": ("[TM][ERROR] CUDA runtime error: out of memory /lmdeploy/src/turbomind/utils/allocator.h:212\nterminate called after throwing an instance of 'std::runtime_error'\n","cuda-oom"),
 "lmdeploy-cache": ("RuntimeError: [TM][ERROR]  Assertion fail: /lmdeploy/src/turbomind/models/llama/SequenceManager.cc: max_block_count > 0: No enough blocks\nRuntimeError: No enough gpu memory for runtime.\n","kv-cache-oom"),
 "xid79": ("[123456.789] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n","hardware-error"),
 "xid94": ("Mar 02 10:11:12 gpu-17 kernel: NVRM: Xid (PCI:0000:41:00): 94, pid=12345, name=python, Contained: SM (0x1). RST: No, D-RST: No\n","hardware-error"),
 "xid63": ("[1.2] NVRM: Xid (PCI:0000:17:00): 48, pid=88, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 1\n","hardware-error"),
 "nvlink": ("[1.2] NVRM: Xid (PCI:0000:17:00): 74, pid=88, NVLink: fatal error detected on link 6(0x10000, 0x0)\n","hardware-error"),
 "amd-ras": ("[  512.1] amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!. Source:  1\n[  512.2] amdgpu 0000:c1:00.0: amdgpu: VRAM is lost due to GPU reset!\n","hardware-error"),
 "ascend": ("[ERROR] 2026-03-02-10:11:12 (PID:123, Device:0, RankID:0) ERR02200 DIST call hccl api failed.\nEI0002: 2026-03-02-10:11:12.123.456 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [3].\n","nccl-timeout"),
 "ascend-oom": ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 58.2 GiB already allocated)\n","cuda-oom"),
 "hip-oom": ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 191.98 GiB\n","cuda-oom"),
 "jax-oom": ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n","cuda-oom"),
 "tpu-oom": ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 18.2G of 15.75G hbm. Exceeded hbm capacity by 2.4G.\n","cuda-oom"),
 "slurm-time": ("slurmstepd: error: *** JOB 10711368 ON c0617 CANCELLED AT 2026-09-30T16:00:24 DUE TO TIME LIMIT ***\n","job-cancelled"),
 "slurm-oom": ("slurmstepd: error: Detected 1 oom_kill event in StepId=6959634.0. Some of the step tasks have been OOM Killed.\nsrun: error: gpu006: task 6: Out Of Memory\n","host-oom"),
 "slurm-node": ("slurmstepd: error: *** STEP 123.0 ON node7 CANCELLED AT 2026-03-02T10:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n","node-lost"),
 "slurm-preempt": ("slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 2026-03-02T10:00:00 DUE TO PREEMPTION ***\n","job-cancelled"),
 "slurm-exit": ("srun: error: gpu-17: task 3: Exited with exit code 1\nsrun: Terminating StepId=123.0\n","uncaught-exception"),
 "k8s-oom": ("    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n","host-oom"),
 "k8s-evict": ("LAST SEEN   TYPE      REASON    OBJECT            MESSAGE\n5s          Warning   Evicted   pod/sft-worker-0  The node was low on resource: ephemeral-storage. Container trainer was using 210Gi, request is 0.\n","disk-full"),
 "k8s-backoff": ("3s   Warning   BackOff   pod/sft-worker-0   Back-off restarting failed container trainer in pod sft-worker-0_ml\n","uncaught-exception"),
 "k8s-pending": ("2m   Warning   FailedScheduling   pod/sft-worker-0   0/12 nodes are available: 12 Insufficient nvidia.com/gpu. preemption: 0/12 nodes are available\n","job-not-started"),
 "k8s-image": ("2m   Warning   Failed   pod/sft-worker-0   Failed to pull image \"reg/x:1\": rpc error: not found\n2m Warning Failed pod/sft-worker-0 Error: ErrImagePull\n","job-not-started"),
 "spot": ("2026-03-02 10:11:12 INFO instance is being preempted, SIGTERM received; node will be reclaimed in 30 seconds\nTerminationNotice: preempted\n","job-cancelled"),
 "docker-json-oom": ('{"log":"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\\n","stream":"stderr","time":"2026-03-02T10:11:12.123Z"}\n',"cuda-oom"),
 "json-level-error": ('{"asctime": "2026-03-02 10:11:12", "levelname": "ERROR", "message": "RuntimeError: CUDA error: device-side assert triggered"}\n',"device-assert"),
 "mindspore-oom": ("RuntimeError: Allocate memory failed, Device memory not enough. Device(id:0) memory isn't enough and alloc failed, kernel name: Default/network, alloc size: 2147483648B.\n","cuda-oom"),
 "paddle-oom": ("ResourceExhaustedError: \n\nOut of memory error on GPU 0. Cannot allocate 2.000000GB memory on GPU 0, 78.9GB memory has been allocated\n","cuda-oom"),
}


def findings(tmp_path, text):
    path = tmp_path / "server.log"
    path.write_text(text, "utf-8")
    return {f.code: f.severity for f in scan(discover(path)).findings}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_log_is_silent(name, tmp_path):
    assert {code for code, severity in findings(tmp_path, HEALTHY[name]).items() if severity != "S3"} == set()


@pytest.mark.parametrize("name", FAULT)
def test_a_fault_is_named_and_nothing_is_graded_above_it(name, tmp_path):
    text, code = FAULT[name]
    found = findings(tmp_path, text)
    assert code in found
    if code not in ("kv-cache-pressure", "engine-crash"):  # a note, and the echo of another failure
        assert found[code] == min(found.values())


def test_a_log_of_a_server_is_not_asked_for_training_metrics(tmp_path):
    assert findings(tmp_path, HEALTHY["vllm"]) == {}


POST = '(APIServer pid=9) INFO:     10.0.0.1:51234 - "POST /v1/chat/completions HTTP/1.1" {} {}\n'
OK, BAD = POST.format(200, "OK"), POST.format(500, "Internal Server Error")
LOAD = "(APIServer pid=9) INFO 03-02 10:00:43 [loggers.py:236] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: {} reqs, Waiting: 0 reqs\n"
SHUT = "INFO:     Shutting down\nINFO:     Application shutdown complete.\n"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (START + OK * 40 + LOAD.format(0) + SHUT, {"run-healthy"}),
        (START + LOAD.format(120) + OK * 400 + LOAD.format(0), {"run-healthy"}),
        (START + OK * 400 + BAD + LOAD.format(1) + SHUT, {"run-healthy"}),
        (START + OK * 40 + BAD * 5 + LOAD.format(0) + SHUT, set()),
        (START + OK * 3 + SHUT, set()),
        (START + OK * 40 + LOAD.format(12), set()),
        (START + OK * 40 + LOAD.format(12) + SHUT, {"server-stopped-busy"}),
        (START + LOAD.format(4) + OK * 40 + SHUT, set()),
    ],
    ids=["all answered", "was busy before", "one refused", "many refused", "too few", "still busy", "stopped busy", "a few run"],
)
def test_a_server_that_did_its_work_and_one_that_was_stopped_in_it(tmp_path, log, said):
    (tmp_path / "vllm.log").write_text(log)
    found = {f.code: f.severity for f in scan(discover(tmp_path)).findings}
    assert found.keys() & {"run-healthy", "server-stopped-busy"} == said
    assert found.get("server-stopped-busy", "S2") == "S2"


@pytest.mark.parametrize(("good", "bad", "said"), [
    (OK * 800, BAD * 120, {"requests-failed": "S1"}), (OK * 4000, BAD * 40, {}), (OK * 40, BAD * 5, {}),
    (OK * 800, POST.format(400, "Bad Request") * 120, {}),
], ids=["many fail", "few of many", "too few to tell", "the clients ask wrongly"])  # fmt: skip
def test_a_server_that_fails_at_many_requests_by_its_own_fault_is_told_of(tmp_path, good, bad, said):
    (tmp_path / "vllm.log").write_text(START + good + bad + LOAD.format(0))
    found = {f.code: f.severity for f in scan(discover(tmp_path)).findings if f.code == "requests-failed"}
    assert found == said


@pytest.mark.parametrize("beside", ["eval_results.json", "broken.log"])
def test_a_servers_log_says_nothing_of_results_or_of_another_server(tmp_path, beside):
    (tmp_path / "vllm.log").write_text(START + OK * 40 + LOAD.format(0))
    (tmp_path / beside).write_text('{"results": {"gsm8k": {"acc": 0.1}}}' if beside.endswith("json") else START + BAD * 9)
    assert "run-healthy" not in {f.code for f in scan(discover(tmp_path)).findings}


def test_an_error_that_a_worker_of_vllm_reports_is_quoted(tmp_path):
    at = "(Worker_TP{0} pid=30{0}) ERROR 06-13 20:09:13 [multiproc_executor.py:962] "
    said = "RuntimeError: Check failed: (status == 0) is false: PagedRun failed with error invalid argument"
    log = START + at.format(0) + "Traceback (most recent call last):\n" + at.format(0) + said + "\n"
    (tmp_path / "vllm.log").write_text(log + "ERROR 06-13 20:09:14 [core.py:1167] EngineCore encountered a fatal error.\n")
    found = {f.code: f for f in scan(discover(tmp_path)).findings}
    assert found["uncaught-exception"].data["message"].startswith("Check failed")
    assert found["engine-crash"].data["follows"]["code"] == "uncaught-exception"


UVICORN = 'INFO:     10.0.0.1:51234 - "POST /v1/chat/completions HTTP/1.1" {} OK\n'
LLAMA_CPP = "srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 {}\n"


def served(tmp_path, **logs):
    for name, text in logs.items():
        (tmp_path / f"{name}.log").write_text(text)
    (tmp_path / "client.py").write_text("import requests\n\nprint(requests.post('http://x/v1').status_code)\n")
    return {f.code for f in scan(discover(tmp_path)).findings}


def test_servers_that_answer_ten_requests_together_are_well_with_a_client_beside_them(tmp_path):
    assert "run-healthy" in served(tmp_path, llama=LCPP + LLAMA_CPP.format(200) * 8, tts=START + UVICORN.format(200) * 4)


@pytest.mark.parametrize("lines", [LLAMA_CPP.format(200) * 9, LLAMA_CPP.format(200) * 9 + LLAMA_CPP.format(500) * 3])
def test_few_answers_or_refusals_are_no_health(tmp_path, lines):
    assert "run-healthy" not in served(tmp_path, llama=LCPP + lines)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (START + LOAD.format(90) + OK * 3 + LOAD.format(87) + OK * 2 + LOAD.format(85) + OK * 85 + SHUT, True),
        (START + LOAD.format(240) + OK * 150 + LOAD.format(90) + OK * 1 + LOAD.format(89) + OK * 89, True),
        (START + LOAD.format(90) + OK * 30 + LOAD.format(60) + OK * 30 + LOAD.format(30) + OK * 30 + SHUT, False),
        (START + LOAD.format(64) + LOAD.format(64) + OK * 64 + LOAD.format(64) + LOAD.format(64) + OK * 64 + SHUT, False),
        (START + LOAD.format(90) + OK * 2 + LOAD.format(88) + OK * 20 + SHUT, False),
    ],
    ids=["at the end", "after many others", "in turn", "all of one length", "cut off by the end"],
)
def test_requests_that_all_end_at_one_instant(tmp_path, log, said):
    (tmp_path / "vllm.log").write_text(log)
    found = {f.code for f in scan(discover(tmp_path)).findings}
    assert ("answers-end-together" in found) is said
    assert not said or "server-stopped-busy" not in found
