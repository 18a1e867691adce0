"""The steps of gpu-test about `qsim eval`: a GPU says of the labelled pictures what the CPU says, and soon."""
import shutil

import measurements
from session import FAILED, OK

MODEL = "models/vgg8-cifar10/vgg8-int8.onnx"
ENGINES = "golden,fake"
FILES = ("predictions.npy", "outputs.npy")
RECORD_BYTES = 3073  # of a CIFAR-10 batch
MANY = 10_000        # pictures
MOST_S = 1.0         # for them, on each engine


def evaluate(session, folder, data, backend):
    """What eval.json says of each engine, by its name."""
    shutil.rmtree(folder, ignore_errors=True)  # eval would go on after what is there
    done = session.run([session.program("qsim"), "eval", "--model", session.shipped(MODEL), "--data", data, "--engines",
                        ENGINES, "--backend", backend, "--quiet", "--out", folder], 240)
    if done.exit_code != 0:
        raise RuntimeError(f"qsim eval --backend {backend}: {done.ending()}")
    rows = {row["engine"]: row for row in measurements.read_json(folder / "eval.json")["engines"]}
    for name in ENGINES.split(","):
        if rows[name]["backend"] != backend:
            raise RuntimeError(f"qsim eval --backend {backend}: {name} ran on {rows[name]['backend']}")
    return rows


def agreement(session):
    """Golden and fake quantization on a GPU and on the CPU: the same classes and the same outputs."""
    batch = session.test_batch()
    if batch is None:
        return session.skip("data")
    folders = {backend: session.results / f"eval_{backend}" for backend in ("cuda", "cpu")}
    rows = {backend: evaluate(session, folder, batch, backend) for backend, folder in folders.items()}
    compared = 0
    for name in FILES:
        cuda, cpu = ((folder / name).read_bytes() for folder in folders.values())
        if cuda != cpu or not cuda:
            return FAILED, f"{name} of cuda and cpu differ"
        compared += len(cuda)
    return OK, "; ".join(f"{name}: {row['top1_correct']} of {row['pictures']} right"
                         for name, row in rows["cuda"].items()) + f"; {compared:,} bytes equal those of the CPU"


def speed(session):
    """The test batch over and over, as many pictures as the target has."""
    batch = session.test_batch()
    if batch is None:
        return session.skip("data")
    records = batch.read_bytes()
    data = session.results / "data_batch_1.bin"
    data.write_bytes((records * (MANY * RECORD_BYTES // len(records) + 1))[:MANY * RECORD_BYTES])
    rows = evaluate(session, session.results / "eval_many", data, "cuda")
    missed = [name for name, row in rows.items() if row["seconds"] > MOST_S or row["pictures"] != MANY]
    text = "; ".join(f"{name} {measurements.time_text(row['seconds'])} (" + ", ".join(
        f"{stage} {measurements.time_text(seconds)}" for stage, seconds in row["stages"].items()) + ")"
                     for name, row in rows.items())
    return (FAILED if missed else OK), f"{'missed' if missed else 'met'}: {text}; target {MOST_S:g} s each"
