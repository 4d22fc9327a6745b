"""Error signatures of processes that are to find each other, and of machines that a launcher is to reach: torch, JAX,
TensorFlow, HCCL, MPI, ssh; and of devices that may not reach each other's memory."""

# One pattern or example per line, however long.
# ruff: noqa: E501

from __future__ import annotations

from .signature import S0, S1, Signature

ROWS = (
    Signature(
        "rendezvous-timeout", S0,
        r"Timed out initializing process group in store based barrier|retrieving ncclUniqueId from|DEADLINE_EXCEEDED.{0,80}(Barrier|RegisterTask|coordinat|PjRT_Client_Connect)|[Bb]arrier timed out\. .{0,80}PjRT_Client_Connect|[Ff]ailed to connect to (the )?distributed \w{1,20} controller|waited too long for some tasks to show up|CoordinationService.{0,60}([Bb]arrier|[Tt]ask).{0,40}timed out|[Cc]onnection to (the )?coordinator .{0,20}timed out|Getting socket times out|[Tt]imed? ?out waiting for (all |the other )?(nodes|ranks|workers|peers|processes) to (join|connect|register)",
        "the processes did not find each other in time", "进程未能在时限内会合",
        (
            "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: PjRT_Client_Connect::0.",
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=16, worker_count=15, timeout=0:30:00)",
            "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout",
            "EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.",
        ),
        ("Connecting to JAX distributed service on 10.2.0.4:8476", "waiting for all ranks to join"),
        must_not=r"[Rr]etry(ing)?\b",
    ),
    Signature(
        "launcher-not-reached", S0,
        r"ORTE was unable to reliably start|ORTE daemon has unexpectedly failed|ORTE does not know how to route|PRTE .{0,40}(unable|failed)|ssh: connect to host \S{1,80} port \d+: |ssh: Could not resolve hostname|ssh exited with exit code [1-9]|Host key verification failed|Permission denied \(publickey|HYDU_create_process|HYDT_bscd_\w{1,40}.{0,60}(error|failed)|An error occurred trying to use .{0,40}(rsh|ssh) agent",
        "the launcher could not start its processes on another machine", "启动器无法在其他机器上拉起进程",
        ("ORTE was unable to reliably start one or more daemons.", "ssh: connect to host worker-7 port 22: Connection refused", "pdsh@head: worker-2: ssh exited with exit code 255",
         "Host key verification failed.", "ssh: Could not resolve hostname worker-3: Name or service not known"),
        ("ssh agent started", "ssh worker-1 hostname: ok"),
    ),
    Signature(
        "processes-exceed-devices", S0,
        r"not enough slots available in the system|[Rr]equested node configuration is not available.{0,20}gres|More processors requested than permitted",
        "a launcher is to start more processes than it is given places", "启动器要启动的进程多于可用的槽位",
        ("There are not enough slots available in the system to satisfy the 16 slots that were requested by the application:", "srun: error: Unable to create step for job 12: More processors requested than permitted"),
        ("slots=8 max_slots=8",),
    ),
    Signature(
        "nccl-timeout", S0,
        r"Caught collective operation timeout|Notify register times out|(HCCL|hccl|RCCL|MCCL|CNCL)\w{0,10}.{0,40}(operation|collective|wait|notify).{0,40}(timed? ?out|timeout)",
        "a rank waited for the others until the time limit", "某个 rank 等待其他 rank 直至超时",
        ("RuntimeError: [Rank 3] Caught collective operation timeout: WorkHCCL(SeqNum=12)", "EI0002: [PID: 71] 2025-01-02-03:04:05.678 The wait execution of the Notify register times out. Reason: x"),
        ("hccl timeout set to 1800",),
        must_not=r"(?i)timeout (is )?set|timeout ?=|_timeout\b",
        role="echo",
    ),
    Signature(
        "uncaught-exception", S1,
        r"ACL stream synchronize failed|[Cc]all (hccl|acl) api failed|HCCL function error|DIST call hccl|rcclUnhandled\w{1,20}Error|RCCL [Ee]rror( in|:)|[Hh]ccl\w{2,30}\(?\)? failed",
        "a call of the collective library failed", "集合通信库调用失败",
        ("RuntimeError: ACL stream synchronize failed, error code:507048", "[ERROR] 2025-01-02-03:04:05 (PID:71, Device:4, RankID:4) ERR02200 DIST call hccl api failed."),
        ("HCCL init ok",),
        role="echo",
    ),
    Signature(
        "p2p-error", S1,
        r"DMAR: \[?(DMA )?(Read|Write)\b.{0,60}(Request device|fault addr)|DMAR: .{0,40}PTE (Read|Write) access is not set|AMD-Vi: .{0,40}IO_PAGE_FAULT|\[IO_PAGE_FAULT device|arm-smmu\S{0,40}: .{0,40}(Unhandled context fault|event 0x10)|peer mapping resources exhausted",
        "the machine's address translation (IOMMU) refuses what a device writes into another one's memory", "IOMMU 拦截了设备对另一设备内存的直接访问",
        ("[ 4411.7] DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0x39f000000000 [fault reason 0x06] PTE Read access is not set",
         "AMD-Vi: Event logged [IO_PAGE_FAULT device=21:00.0 domain=0x0000 address=0x1000]"),
        ("DMAR: IOMMU enabled", "AMD-Vi: Interrupt remapping enabled", "DMAR: Host address width 46"),
    ),
    Signature(
        "link-error", S0, r"transport retry count exceeded|UCX\s{1,4}ERROR .{0,80}(endpoint|transport|timeout|unreachable)|ncclRemoteError: .{0,60}(network|timeout).{0,40}IB",
        "an InfiniBand link failed", "InfiniBand 链路出错",
        ("[node3:71:0] ib_mlx5_log.c:171 Transport retry count exceeded on mlx5_0:1/IB".replace("Transport", "transport"),),
        ("UCX  INFO  using mlx5_0:1",),
    ),
    Signature(
        "loader-timeout", S1, r"DataLoader timed out after \d|[Tt]imed out waiting for (the )?(next )?(batch|data|sample)s?( from (the )?(data ?loader|worker|queue|dataset))?\b.{0,40}(second|worker|s\b)|[Dd]ata ?loader (worker )?.{0,40}(timeout|timed out)",
        "the data loader gave no batch within its time limit", "数据加载器未能在时限内给出一个批次",
        ("RuntimeError: DataLoader timed out after 90 seconds", "queue.Empty: Timed out waiting for the next batch from the dataloader after 120 seconds"),
        ("dataloader timeout: 90", "DataLoader worker timeout=0"),
        must_not=r"(?i)timeout ?[:=(]|retry",
    ),
    Signature(
        "native-crash", S0,
        r"Signal: Segmentation fault \(11\)|srun: error: .{1,80}: Segmentation fault|double free or corruption|malloc\(\): (invalid|corrupted|memory corruption|unaligned)|free\(\): (invalid|double)|munmap_chunk\(\): invalid|corrupted size vs\. prev_size|\bstack smashing detected",
        "the process crashed in native code (segmentation fault, damaged heap)", "进程在本机代码中崩溃（段错误、堆损坏）",
        ("[n1:4242] Signal: Segmentation fault (11)", "srun: error: node1: task 3: Segmentation fault (core dumped)", "double free or corruption (!prev)", "malloc(): invalid size (unsorted)"),
        ("no segmentation fault was seen",),
        role="echo",
    ),
    Signature(
        "host-oom", S0, r"[Ee]xceeded (job|step) memory limit|[Mm]emory cgroup limit (was )?exceeded|exceeded (its )?memory limit, (being )?killed|job killed: mem \S{1,20} exceeded limit",
        "the host's memory ran out and the process was killed", "主机内存耗尽，进程被杀",
        ("slurmstepd: error: Exceeded job memory limit at some point.", "=>> PBS: job killed: mem 268435460kb exceeded limit 268435456kb"),
        ("memory limit: 256 GiB",),
    ),
    Signature(
        "job-cancelled", S1, r"Job was active longer than specified deadline|=>> PBS: job killed: walltime|TERM_RUNLIMIT|job exceeded (its )?(wall ?(clock|time)|run ?time) limit",
        "the scheduler ended the job", "作业被调度器终止",
        ("Warning  DeadlineExceeded  job/train  Job was active longer than specified deadline", "=>> PBS: job killed: walltime 86420 exceeded limit 86400", "TERM_RUNLIMIT: job killed after reaching LSF run time limit."),
        ("walltime=24:00:00",),
    ),
    Signature(
        "exception-in-rendezvous", S0, r"environment variable (RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected, but not set",
        "a process was not told its place among the others", "进程没有得到自己在分布式作业中的编号或主节点地址",
        ("ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable WORLD_SIZE expected, but not set",),
        ("environment variable RANK=0",),
    ),
    Signature(
        "device-ordinal-invalid", S0, r"ProcessGroup\w{2,6} is only supported with GPUs, no GPUs found|No slots? ('?\d+'? )?specified on host",
        "a device is asked for that the process does not see: more are asked for than there are", "要用的设备不可见：请求的设备数多于可见的设备数",
        ("ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!", "ValueError: No slot '4' specified on host 'localhost'"),
        ("slots=4 on host localhost",),
    ),
    Signature(
        "job-not-started", S0,
        r"nodes are available: .{0,160}(untolerated taint|didn't match .{0,40}(affinity|selector))|exceeded quota: |Unable to allocate resources: |Batch job submission failed: |MountVolume\.\w{1,20} failed for volume",
        "the cluster did not start the job: no right, no quota, no free place or no volume for it", "集群没有启动作业：没有权限、配额、空闲资源或卷",
        ("0/8 nodes are available: 8 node(s) had untolerated taint {team: a}.", "sbatch: error: Batch job submission failed: Requested node configuration is not available",
         "Warning  FailedMount  MountVolume.SetUp failed for volume \"corpus\"", "Error creating: pods \"w-0\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8"),
        ("8/8 nodes are available", "quota: 64 GPUs"),
        undone=r"Successfully assigned|Started container|allocated resources|Granted job allocation",
    ),
)  # fmt: skip
