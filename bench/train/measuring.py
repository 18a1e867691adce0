"""Times and peak memory of PyTorch work on a GPU, or on the CPU for a quick look: medians of interleaved rounds."""
import datetime
import gc
import pathlib
import platform
import statistics
import time

import torch

LEAST_ROUND_MS = 3.0  # of one measurement, so that what starting a launch takes is not counted alone
MOST_CALLS = 200
WARM_UP = 3


def elapsed_ms(work, calls, on_gpu):
    """Of one call, from the start of the first to the end of the last."""
    if not on_gpu:
        begin = time.perf_counter()
        for _ in range(calls):
            work()
        return 1e3 * (time.perf_counter() - begin) / calls
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def calls_of(work, on_gpu):
    """How many calls make a measurement long enough."""
    for _ in range(WARM_UP):
        work()
    return max(1, min(MOST_CALLS, int(LEAST_ROUND_MS / max(elapsed_ms(work, 1, on_gpu), 1e-3)) + 1))


def attempt(row, work):
    """A case that a machine or a PyTorch cannot run says why, and the others go on."""
    try:
        return work()
    except Exception as error:  # pylint: disable=broad-except
        row["error"] = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        return None


def summary(times):
    """Median and quartiles."""
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return {"median_ms": middle, "lower_ms": low, "upper_ms": high, "runs": len(times)}


def peak_bytes(work, iterations):
    """The most bytes that PyTorch's tensors take at once, all that is alive included; None on a CPU."""
    if not torch.cuda.is_available():
        for _ in range(iterations):
            work()
        return None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(iterations):
        work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated()


def compiled(module):
    """torch.compile of a module for one shape. Each case is a version of the same code, for which PyTorch has a limit of 8."""
    torch._dynamo.config.recompile_limit = 256
    return torch.compile(module, dynamic=False)


def free():
    """Gives back what no tensor needs."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def captured(work):
    """`work` as a CUDA graph's replay; warmed up on a stream of its own, as capturing wants."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def processor():
    """Its name, as the kernel says it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine():
    """What the figures were measured on."""
    on_gpu = torch.cuda.is_available()
    return {"device": torch.cuda.get_device_name() if on_gpu else processor(), "gpu": on_gpu,
            "pytorch": torch.__version__, "cuda": torch.version.cuda if on_gpu else None,
            "cudnn": torch.backends.cudnn.version() if on_gpu else None,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
