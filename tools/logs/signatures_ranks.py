"""Error signatures of processes, collectives, networks and schedulers."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import S0, S1, S2, Signature

ROWS = (
    Signature(
        "collective-mismatch", S0,
        r"desync|mismatched ranks|[Dd]etected mismatch between collectives|Mismatched collective|collective.{0,60}(different|inconsistent) (op|shape|size)|Invalidate trace cache @ step|but got module|ranks? .{0,30}didn't join collective|finished collective #\d+, but didn't join",
        "ranks did not run the same collective", "各 rank 没有执行相同的集合通信",
        (
            " - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
            "     [1] finished collective #2, but didn't join collective #3 (count from 1)",
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: ALLREDUCE",
        ),
        ("TORCH_NCCL_DESYNC_DEBUG=1", "desync debug enabled"),
        must_not=r"(?i)DESYNC_DEBUG|desync debug",
    ),
    Signature(
        "nccl-timeout", S0,
        r"Watchdog caught collective operation timeout|Timeout at NCCL work|NCCL (operation|collective).{0,40}timed? ?out|[Nn][Cc][Cc][Ll] timeout|Timed out waiting \d+ms for (recv|send) operation|watchdog thread terminated with exception|Heartbeat monitor timed out|Some NCCL operations have failed or timed out|wait timeout after \d+ms|Socket [Tt]imeout",
        "a rank waited for the others until the time limit", "某个 rank 等待其他 rank 直至超时",
        (
            "[rank1]:[E1003 18:37:01 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6463, OpType=ALLREDUCE)",
            "RuntimeError: NCCL timeout",
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete",
        ),
        ("nccl timeout set to 1800 s", "--nccl_timeout 3600", "nccl_timeout: 7200"),
        must_not=r"(?i)nccl[_ ]timeout( is)?( set| of|\s*[:=]|\s+\d)",
        role="echo",
    ),
    Signature(
        "nccl-error", S0,
        r"ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError|ncclInvalidUsage|NCCL [Ee]rror (in|\d)|NCCL failure|unhandled (system|cuda) error|NCCL WARN Socket creation failed|ncclCommInitRank failed|NCCL communicator was aborted|Duplicate GPU detected",
        "a NCCL call failed", "NCCL 调用失败",
        (
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled cuda error, NCCL version 2.14.3",
            "RuntimeError: NCCL Error 2: unhandled system error",
            "node1:12:34 [0] socket.h:311 NCCL WARN Socket creation failed : Address family not supported by protocol",
            "ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000",
        ),
        ("NCCL INFO NET/Plugin : No plugin found", "NCCL WARN NCCL_P2P_DISABLE set by environment", "ibvwrap.c:94 NCCL WARN Call to ibv_open_device failed"),
        role="echo",
    ),
    Signature(
        "p2p-error", S1, r"peer access is not supported|P2P.{0,40}(not supported|failed|unavailable)|peer-to-peer.{0,60}(not supported|fail)",
        "GPUs cannot reach each other directly", "GPU 之间无法直接通信",
        ("RuntimeError: CUDA error: peer access is not supported between these two devices",
         "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband via P2P or IB; P2P not supported"),
        ("custom_all_reduce.py: Custom allreduce is disabled because your platform lacks GPU P2P capability",),
    ),
    Signature(
        "rendezvous-timeout", S0,
        r"RendezvousTimeoutError|RendezvousConnectionError|RendezvousClosedError|rendezvous.{0,60}(timed out|timeout)|TCPStore.{0,80}(timed out|[Tt]imeout)|client socket has timed out after|Timed out after \d+ seconds waiting for clients|DistStoreError|failed to connect to .{1,80} within",
        "the processes did not find each other in time", "进程未能在时限内会合",
        (
            "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
            "TimeoutError: The client socket has timed out after 600s while trying to connect to (10.0.0.1, 29500).",
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
        ),
        ("rendezvous complete: world size 8", "rdzv_timeout=900"),
    ),
    Signature(
        "port-in-use", S1, r"[Aa]ddress already in use|EADDRINUSE|port \d+ is (already )?(in use|occupied)",
        "the port is taken by another process", "端口已被占用",
        ("RuntimeError: The server socket has failed to listen on any local network address. errno: 98 - Address already in use",
         "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use"),
        ("Listening on port 29500",),
    ),
    Signature(
        "gloo-interface-error", S0, r"[Gg]loo connectFullMesh failed|gloo/transport/tcp/device\.cc|Unable to find address for: |Unable to resolve hostname to a \(local\) address",
        "Gloo found no usable network interface", "Gloo 找不到可用的网卡",
        ("RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: bond1",
         "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error"),
        ("Using gloo interface eth0",),
    ),
    Signature(
        "network-error", S1,
        r"requests\.exceptions\.(ConnectionError|ConnectTimeout|ReadTimeout|SSLError|ProxyError)|Max retries exceeded with url|Failed to resolve '|Name or service not known|Temporary failure in name resolution|We couldn't connect to '|Network is unreachable|LocalEntryNotFoundError|OfflineModeIsEnabled",
        "a host on the network could not be reached", "网络主机无法访问",
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='models.invalid', port=443): Max retries exceeded with url: /x",
         "OSError: We couldn't connect to 'https://models.invalid' to load this file",
         "socket.gaierror: [Errno -2] Name or service not known"),
        ("Connection established", "wandb: Network error (ConnectTimeout), entering retry loop."),
        must_not=r"(?i)wandb|retry(ing)?\b|will try again",
    ),
    Signature(
        "nccl-error", S1, r"Connection (reset|closed) by (remote )?peer|Broken pipe.{0,60}(TCPStore|store|rank)|recvValue failed|failed to recv, got 0 bytes",
        "another process closed the connection", "另一个进程关闭了连接",
        ("RuntimeError: [3] is setting up NCCL communicator but got: Connection reset by peer",
         "[E socket.cpp] recvValue failed on SocketImpl(fd=44): failed to recv, got 0 bytes"),
        ("Connection kept alive",),
        must_not=r"(?i)wandb|retry",
        role="echo",
    ),
    Signature(
        "uncaught-exception", S0, r"ChildFailedError|exitcode ?: ?[1-9]\d* \(pid|exits with return code = [1-9]|exited with exit code [1-9]|failed \(exitcode: [1-9]",
        "the launcher reports that a process failed", "启动器报告某个进程失败",
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
         "[2024-01-01 00:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['python'] exits with return code = 1",
         "srun: error: node01: task 3: Exited with exit code 1".replace("Exited", "exited")),
        ("[INFO] [launch.py:460:main] Process 47960 exits successfully.", "exited with exit code 0", "raise ChildFailedError("),
        role="echo",
    ),
    Signature(
        "process-killed", S1,
        r"DUE TO TIME LIMIT|DUE TO PREEMPTION|CANCELLED AT .{1,40}(DUE|BY)|[Pp]reempt(ed|ion notice)|STEP \d+\.\S+ .{0,20}CANCELLED",
        "the scheduler ended the job", "作业被调度器终止",
        ("slurmstepd: error: *** JOB 123 ON n1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
         "slurmstepd: error: *** STEP 12.0 ON n2 CANCELLED AT 2024-01-01T00:00:00 DUE TO PREEMPTION ***",
         "spot instance preempted"),
        ("#SBATCH --time=20:00:00", "Sequence group 3 is preempted by PreemptionMode.RECOMPUTE because there is not enough KV cache space"),
        must_not=r"PreemptionMode|Sequence group|num_preempt|preempted_req|[Rr]equest",
    ),
    Signature(
        "process-killed", S1,
        r"SignalException: Process \d+ got signal: 1?[15]|Received signal (15|SIGTERM)|[Rr]eceived SIGTERM|got signal: 15|died with <Signals\.SIG(TERM|ABRT|SEGV)",
        "the process was ended by a signal", "进程被信号终止",
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 123 got signal: 15",
         "Received signal SIGTERM, saving a checkpoint"),
        ("Sending process 846 closing signal SIGTERM",),
        role="echo",
    ),
    Signature(
        "interrupted", S2, r"^KeyboardInterrupt\b|Main process received SIGINT|[Rr]eceived (signal )?SIGINT|got signal: 2\b|^\^C",
        "somebody stopped the run by hand", "有人手动停止了运行",
        ("KeyboardInterrupt", "[INFO] [launch.py:328:sigkill_handler] Main process received SIGINT, exiting",
         "torch.distributed.elastic.multiprocessing.api.SignalException: Process 9 got signal: 2"),
        ("except KeyboardInterrupt:", "Press Ctrl-C to stop"),
    ),
    Signature(
        "collective-mismatch", S0, r"Expected to have finished reduction in the prior iteration|parameters that were not used in producing loss|Parameter at index \d+ .{0,60}has been marked as ready twice|process group.{0,40}(was not created|not initialized) on all ranks",
        "ranks used different parameters in one step", "各 rank 在同一步使用了不同的参数",
        ("RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
         "Parameter at index 7 with name x has been marked as ready twice."),
        ("find_unused_parameters=True",),
    ),
    Signature(
        "engine-init-failure", S0, r"placement group.{0,60}(timed out|timeout|cannot be|could not be)|No available node types can fulfill|Total available GPUs \d+(\.\d+)? is less than total desired GPUs|cluster does not have enough (GPUs|resources)",
        "the cluster does not have the GPUs that were asked for", "集群没有所请求数量的 GPU",
        ("ValueError: Total available GPUs 4 is less than total desired GPUs 8",
         "(autoscaler) Error: No available node types can fulfill resource request {'GPU': 8.0}"),
        ("placement group created",),
    ),
    Signature(
        "open-files-limit", S0, r"Too many open files|received 0 items of ancdata",
        "the limit of open files is reached", "打开文件数达到上限",
        ("OSError: [Errno 24] Too many open files: 'shard-001.tar'", "RuntimeError: received 0 items of ancdata"),
        ("open files limit: 65536",),
    ),
)  # fmt: skip
