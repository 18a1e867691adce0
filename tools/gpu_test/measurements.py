"""The steps of gpu-test that measure: our own networks and layers, and the peers of bench/golden_cuda_peers."""
import json
import sys

from session import FAILED, OK

RUNS = 21
# Name, workload, batch, and the most seconds that it may take on one H200.
NETWORKS = (("VGG-16", "workloads/vgg16", 256, 6.7e-3), ("VGG-16", "workloads/vgg16", 32, 0.9e-3),
            ("VGG-16", "workloads/vgg16", 1, 150e-6), ("VGG-8", "workloads/vgg8", 10000, 3.4e-3),
            ("ResNet-50", "networks/resnet50", 256, 4.5e-3), ("ResNet-50", "networks/resnet50", 32, 0.75e-3),
            ("ResNet-50", "networks/resnet50", 1, 0.25e-3),
            ("ResNet-18", "networks/resnet18", 256, 1.6e-3), ("ResNet-18", "networks/resnet18", 32, 0.33e-3),
            ("ResNet-18", "networks/resnet18", 1, 0.12e-3),
            ("MobileNetV2", "networks/mobilenet_v2", 256, 3.2e-3),
            ("MobileNetV2", "networks/mobilenet_v2", 32, 0.55e-3),
            ("MobileNetV2", "networks/mobilenet_v2", 1, 0.2e-3))
# Peers: PyTorch's name, ours, batches. PyTorch compiles each for 20 to 30 s; bench/golden_cuda_peers has more.
PEER_NETWORKS = (("vgg16", "VGG-16", (256, 32)), ("resnet50", "ResNet-50", (32,)))
MIDDLE_LAYERS = tuple(f"conv{i}" for i in range(2, 14))  # each faster than both peers
LAYER_BATCH = 32  # of the comparison layer by layer
BINARY_SIZES = ("8", "16", "32", "64", "128", "256", "512")
BINARY_BATCHES = {1: 7, 32: 5}  # how many of the sizes
MODES = ("default", "eager")  # the first that works is kept


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def time_text(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"


def own_bench(workload, batch, target):
    """`qsim golden bench` against its target; keeps the times of the layers for the comparison."""
    def run(session):
        path = session.results / f"bench_{workload.split('/')[1]}_{batch}.json"
        done = session.run([session.program("qsim"), "golden", "bench", "--model",
                            session.shipped(f"models/{workload}.yaml"), "--batch", batch,
                            "--runs", RUNS, "--backend", "cuda", "--json", path], 60)
        if done.exit_code != 0:
            return FAILED, done.ending()
        report = read_json(path)
        if (workload, batch) == ("workloads/vgg16", LAYER_BATCH):
            session.own_layers = {row["layer"].split("+")[0]: row for row in report["kernels"]}
        met = report["backend"] == "cuda" and report["seconds"] <= target
        return (OK if met else FAILED), (
            f"{'met' if met else 'missed'}: {time_text(report['seconds'])} on {report['backend']}, target "
            f"{time_text(target)}; {report['pictures_per_second']:,} pictures/s, {report['tops']:.0f} TOPS, "
            f"{report['share_of_peak']:.1%} of the measured peak")
    return run


def binary_sizes(bases, batch):
    """`qsim golden abc`: binary layers over picture sizes, whose words must be the CPU's, beside our int8 convolution."""
    def run(session):
        path = session.results / f"binary_sizes_{bases}_{batch}.json"
        sizes = BINARY_SIZES[:BINARY_BATCHES[batch]]
        done = session.run([session.program("qsim"), "golden", "abc", "--model",
                            session.shipped("models/resnet14-cifar10/resnet14-int8.onnx"), "--bases", bases,
                            "--activation-bases", bases, "--sizes", ",".join(sizes), "--batch", batch,
                            "--runs", RUNS, "--backend", "cuda", "--quiet", "--json", path], 120)
        if done.exit_code != 0:
            return FAILED, done.ending()
        rows = read_json(path)["gpu_times"]
        return OK, "; ".join(f"{row['size']}: {time_text(row['binary_seconds'])}, int8 {time_text(row['int8_seconds'])}"
                             for row in rows)
    return run


def peer_sizes(batch):
    """cuDNN's FP16 convolution of the same layer."""
    def run(session):
        rows, done = run_peers(session, 60, "sizes", "--batch", batch)
        if not rows or done.exit_code != 0:
            return peers_failed(session, done)
        return OK, "; ".join(f"{row['layer']}: {time_text(row['seconds'])}" for row in rows)
    return run


def run_peers(session, limit_s, *words):
    """Runs peers.py, and keeps its rows; returns them and how it ended."""
    done = session.run([sys.executable, "-B", session.bundle / "scripts/peers.py", *words], limit_s,
                       {"TORCHINDUCTOR_CACHE_DIR": str(session.results / "inductor")})
    rows = [json.loads(line) for line in done.output.splitlines() if line.startswith('{"peer"')]
    session.peers += rows
    return rows, done


def peers_failed(session, done):
    if "No module named 'torch" in done.output:
        return session.skip("torch")
    return FAILED, done.ending()


def peer_layers(session):
    rows, done = run_peers(session, 120, "layers", "--batch", LAYER_BATCH)
    if not rows or done.exit_code != 0:
        return peers_failed(session, done)
    return OK, f"{len(rows)} measurements"


def peer_network(network, batch):
    """PyTorch's `network` on fp16: the strongest mode that works within its time."""
    def run(session):
        for at in range(session.peer_mode, len(MODES)):
            mode = MODES[at]
            rows, done = run_peers(session, 60, "network", "--network", network, "--batch", batch,
                                   "--mode", mode)
            if rows and done.exit_code == 0:
                return OK, (f"{time_text(rows[0]['seconds'])}, {rows[0]['images_per_second']:,.0f} "
                            f"pictures/s ({mode})")
            if done.exit_code is None:  # nor would it end in time for another batch
                session.peer_mode = min(at + 1, len(MODES) - 1)
        return peers_failed(session, done)
    return run


def judge_layers(session):
    """Every middle layer must have been measured on all sides, and be the fastest."""
    if not session.peers and session.lenient:
        return session.skip("torch")
    rows = {row[0]: row for row in layer_rows(session)}
    missing = [layer for layer in MIDDLE_LAYERS if layer not in rows]
    missed = [f"{layer} {rows[layer][6]}" for layer in MIDDLE_LAYERS
              if layer in rows and rows[layer][7] != "met"]
    if missing or missed:
        return FAILED, "; ".join(f"{what}: {', '.join(names)}" for what, names in
                                 (("missed", missed), ("not measured", missing)) if names)
    return OK, f"met: {len(rows)} layers, each faster than cuDNN fp16 and cuBLASLt int8"


def layer_rows(session):
    """Layer by layer at batch 32: ours, the peers, how many times faster than the faster peer, and
    whether it is faster."""
    rows = []
    peers = {(row["peer"], row.get("layer")): row for row in session.peers}
    for (peer, layer), cudnn in peers.items():
        gemm, own = peers.get(("cublaslt_int8", layer)), session.own_layers.get(layer)
        if peer != "cudnn_fp16" or gemm is None or own is None:
            continue
        ratio = min(cudnn["seconds"], gemm["seconds"]) / own["seconds"]
        rows.append((layer, own["kernel"], f"{time_text(own['seconds'])}, {own['tops']:.0f} TOPS",
                     f"{own['share_of_peak']:.1%}",
                     f"{time_text(cudnn['seconds'])}, {cudnn['tops']:.0f} TFLOP/s",
                     f"{time_text(gemm['seconds'])}, {gemm['tops']:.0f} TOPS", f"{ratio:.2f}",
                     "met" if ratio > 1 else "missed"))
    return rows


STEPS = (
    *((f"bench {name}, batch {batch}", own_bench(workload, batch, target))
      for name, workload, batch, target in NETWORKS),
    *((f"binary layer over sizes, {bases}x{bases} bases, batch {batch}", binary_sizes(bases, batch))
      for batch in BINARY_BATCHES for bases in (1, 3)),
    *((f"peer: cuDNN, the same layer, batch {batch}", peer_sizes(batch)) for batch in BINARY_BATCHES),
    ("peer: cuDNN and cuBLASLt, layers", peer_layers),
    ("each middle layer against its peers", judge_layers),
    *((f"peer: PyTorch fp16 {name}, batch {batch}", peer_network(network, batch))
      for network, name, batches in PEER_NETWORKS for batch in batches),
)
