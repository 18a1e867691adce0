#!/usr/bin/env python3
"""Puts together the folder that `run.sh` tests a GPU machine from: no compiler, package or library of
ours is needed there but the GPU's driver and python3. `./dev gpu-test --bundle DIR` calls it.
"""
import argparse
import pathlib
import shutil
import sys
import zipfile

import linking
import planted

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ("qsim", "golden_cuda_check", "golden_binary_cuda_check", "golden_convert_cuda_check",
            "golden_linear_cuda_check", "golden_int8_linear_cuda_check", "golden_real_cuda_check",
            "golden_train_forward_cuda_check", "golden_train_gradient_cuda_check",
            "golden_cuda_executor_refusal_test", "golden_real_cuda_refusals_test", "golden_linear_cuda_zero_points_test",
            "requantize_device", "rtl_model_name")
RTL_CONFIG = "pe16x16"
# Which processors the RTL model runs on: Intel from Haswell, AMD from Zen on.
MARCH = "x86-64-v3"
MARKER = "qsim_gpu_test"
MOST_BYTES = 100_000_000  # without data


def clear(out):
    """An empty folder; what is not a bundle is not removed."""
    if out.exists() and any(out.iterdir()):
        if not (out / MARKER).exists():
            raise RuntimeError(f"{out} is not empty and not a bundle of gpu-test; name another folder")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).write_text("made by ./dev gpu-test\n")


def copy_shipped_files(share):
    """Configurations, models and the RTL's sources, where an installed qsim finds them."""
    shutil.copytree(ROOT / "configs", share / "configs")
    shutil.copytree(ROOT / "models", share / "models",
                    ignore=shutil.ignore_patterns("train", "vgg8-float*"))
    shutil.copytree(ROOT / "rtl/src", share / "rtl/src")
    (share / "rtl/engine").mkdir()
    for file in ("build_model.sh", "engine/core_abi.h", "engine/verilated_core.cpp",
                 "engine/verilated_print.h"):
        shutil.copy(ROOT / "rtl" / file, share / "rtl" / file)


def build_rtl_model(build, out):
    """The model of RTL_CONFIG for any processor of MARCH, kept in the build folder."""
    config = ROOT / f"configs/{RTL_CONFIG}.yaml"
    key, *parameters = linking.run([build / "bin/rtl_model_name", config]).split()
    model = build / f"gpu_test/{key}.so"
    compiler = next(name for name in ("clang++", "g++") if shutil.which(name))
    if not model.exists():
        linking.run([ROOT / "rtl/build_model.sh", "--variant", "plain", "--cxx", compiler, "--march",
                     MARCH, "--output", model, *parameters])
    to = out / f"rtl_models/{RTL_CONFIG}.so"
    to.parent.mkdir()
    shutil.copyfile(model, to)
    linking.run(["strip", "--strip-unneeded", to])
    return to


def copy_scripts(out):
    shutil.copy(HERE / "run.sh", out / "run.sh")
    scripts = out / "scripts"
    scripts.mkdir()
    for folder in (HERE, ROOT / "bench/golden_cuda_peers", ROOT / "tools/ort"):
        for file in sorted(folder.glob("*.py")):
            if file.name not in ("bundle.py", "linking.py", "planted.py", "run_onnx.py",
                                 "run_test.py"):
                shutil.copy(file, scripts / file.name)


def copy_python_package(build, out):
    """The wheel's files and the tests of it that need a GPU."""
    library = build / "golden/c_interface/libqsim_golden.so"
    linking.run([ROOT / "tools/wheel/build.sh", library, build / "gpu_test/wheel"])
    wheel = next((build / "gpu_test/wheel").glob("qsim-*.whl"))
    with zipfile.ZipFile(wheel) as files:
        files.extractall(out / "python/package")
    tests = out / "python/tests"
    tests.mkdir()
    for name in ("on_cuda.py", "cuda_test.py", "cuda_tensors_test.py", "torch_training_test.py",
                 "torch_layers_test.py", "torch_eager_test.py", "torch_convert_test.py", "chain_maker.py", "chain_cuda_test.py"):
        shutil.copy(ROOT / "tests/python" / name, tests / name)


def bytes_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def copy_data(data, out):
    source = data / "cifar10/test_batch.bin"
    if not source.is_file():
        raise RuntimeError(f"--data: {source} is not there")
    (out / "data/cifar10").mkdir(parents=True)
    shutil.copyfile(source, out / "data/cifar10/test_batch.bin")


def make_bundle(build, out, data):
    clear(out)
    (out / "bin").mkdir()
    binaries = []
    for program in PROGRAMS:
        print(f"  linking {program}", file=sys.stderr)
        linking.link_again(build, program, out / "bin" / program)
        binaries.append(out / "bin" / program)
    for fault in planted.FAULTS:
        print(f"  compiling the kernels of {fault.check} with a planted fault", file=sys.stderr)
        program = out / f"bin/{fault.check}_planted"
        planted.build_planted(build, fault, build / "gpu_test/planted" / fault.check, program)
        binaries.append(program)
    copy_shipped_files(out / "share/qsim")
    print(f"  the RTL model of {RTL_CONFIG}, for {MARCH}", file=sys.stderr)
    binaries.append(build_rtl_model(build, out))
    linking.copy_libraries(binaries, out / "lib")
    copy_scripts(out)
    print("  the Python package", file=sys.stderr)
    copy_python_package(build, out)
    size = bytes_of(out)
    if size > MOST_BYTES:
        print(f"  larger than the {MOST_BYTES / 1e6:.0f} MB that docs/guide/gpu_test.md promises", file=sys.stderr)
    if data is not None:
        copy_data(data, out)
    print(f"  {out}: {size / 1e6:.1f} MB{'' if data is None else ' and the data'}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, help="a Ninja build folder")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, help="a folder with cifar10/test_batch.bin")
    parser.add_argument("--programs", action="store_true", help="print what must be built before, a line each")
    args = parser.parse_args()
    if args.programs:
        print("\n".join(PROGRAMS))
        return
    if args.build is None or args.out is None:
        parser.error("needs --build and --out, or --programs")
    try:
        make_bundle(args.build.resolve(), args.out.resolve(), args.data)
    except (RuntimeError, OSError) as error:
        sys.exit(f"gpu-test: {error}")


if __name__ == "__main__":
    main()
