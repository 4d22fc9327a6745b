"""Files and commands of inference engines, rewritten in small: which it is, what it sets, on which line."""

# ruff: noqa: E501  (rows of a table)

ROWS = [
("tgi.sh", "tgi", """docker run --gpus all --shm-size 1g -p 8080:80 -e NCCL_P2P_DISABLE=1 \\
  ghcr.io/huggingface/text-generation-inference:3.0 --model-id org/m --num-shard 4 --max-total-tokens 8192 \\
  --max-input-length 7168 --cuda-memory-fraction 0.9 --dtype bfloat16 --max-concurrent-requests 64
""", {"nccl_p2p_disable": True, "engine_tensor_parallel": 4, "max_model_len": 8192, "gpu_memory_utilization": 0.9,
      "precision": "bf16"}),
("lmdeploy.sh", "lmdeploy", """CUDA_VISIBLE_DEVICES=0,1 lmdeploy serve api_server org/m --tp 2 --session-len 32768 \\
  --cache-max-entry-count 0.8 --max-batch-size 128 --rope-scaling-factor 2.0
""", {"engine_tensor_parallel": 2, "max_model_len": 32768, "max_num_seqs": 128, "rope_scaling_factor": 2.0}),
("trtllm.sh", "tensorrt-llm", """cat > extra.yml <<EOF
kv_cache_config:
    dtype: fp8
    free_gpu_memory_fraction: 0.8
EOF
trtllm-serve org/m --backend pytorch --tp_size 8 --pp_size 1 --ep_size 4 --max_batch_size 256 --max_seq_len 16384 \\
  --kv_cache_free_gpu_memory_fraction 0.8 --extra_llm_api_options extra.yml
""", {"engine_tensor_parallel": 8, "max_num_seqs": 256, "max_model_len": 16384}),
("llamacpp.sh", "llama-cpp", """llama-server -m model.gguf --ctx-size 32768 --parallel 4 --n-gpu-layers 99 \\
  --rope-scaling yarn --rope-scale 4 --temp 0.7 --repeat-penalty 1.1 --seed 5
""", {"max_num_seqs": 4, "rope_scaling_type": "yarn", "rope_scaling_factor": 4.0, "sampling_temperature": 0.7,
      "repetition_penalty": 1.1, "seed": 5}),
("k8s_vllm.yaml", "vllm", """apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:latest
        args: ["--model", "org/m", "--gpu-memory-utilization", "0.95",
               "--max-model-len=16384"]
        env:
        - name: NCCL_P2P_DISABLE
          value: "1"
        resources:
          limits:
            nvidia.com/gpu: 1
""", {"gpu_memory_utilization": 0.95, "max_model_len": 16384, "nccl_p2p_disable": True}),
("docker-compose.yml", "vllm", """services:
  ui:
    image: x/ui
    command: npm start
  llm:
    image: vllm/vllm-openai:v0.9
    environment:
      - CUDA_VISIBLE_DEVICES=0,1
      - NCCL_P2P_DISABLE=1
    command: >
      --model org/m
      --tensor-parallel-size ${TP:-2}
      --gpu-memory-utilization 0.9
      --max-num-seqs 64
""", {"nccl_p2p_disable": True, "engine_tensor_parallel": 2, "gpu_memory_utilization": 0.9, "max_num_seqs": 64}),
("lws.yaml", "sglang", """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        containers:
        - name: l
          image: lmsysorg/sglang:latest
          command:
          - sh
          - -c
          - "python3 -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --mem-fraction-static 0.9"
""", {'engine_tensor_parallel': 16, 'gpu_memory_utilization': 0.9}),
("k8s.json", "vllm", """{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"v","image":"vllm/vllm-openai:v1","args":["--model","m","--max-num-seqs","128"],"env":[{"name":"NCCL_P2P_DISABLE","value":"1"}]}]}}""", {'max_num_seqs': 128, 'nccl_p2p_disable': True}),
]  # fmt: skip
