#!/usr/bin/env python3
"""gpu-test's steps and table on a bundle of fakes: what is reported as ok, failed, skipped, not there.

No GPU and none of our programs are used: a fake says what the real one would, or what FAKE_... asks for.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import families

HERE = pathlib.Path(__file__).resolve().parent

# Each says its words in the log, and at its end so again.
LOG = 'echo "${0##*/} $*" >>"$FAKE_LOG"\n'
DEVICE = 'echo "device: ${FAKE_DEVICE:-NVIDIA H200}, compute capability ${FAKE_CAPABILITY:-9.0}"\n'
CHECK = """#!/bin/sh
""" + LOG + """[ -z "${FAKE_ENDLESS:-}" ] || exec sleep 600
[ "$1" != "${FAKE_SLEEPS:-}" ] || sleep 30
[ "$1" != "${FAKE_MISMATCH:-}" ] || { echo "7 bytes compared, 1 mismatching runs, 0 constant"; exit 5; }
[ "$1" != "${FAKE_CRASH:-}" ] || { echo "CUDA: launching: illegal address, no mismatch"; exit 3; }
case $* in *--cover*)
  """ + DEVICE + """
  echo "launched: shared<1>"; echo "not launched: mixed_copy"; [ -z "${FAKE_OTHER:-}" ] || echo "not launched: $FAKE_OTHER"
  echo "covering cases: 3 tile.7"; echo "kernels launched: ${FAKE_COVERED:-5 of 6}"; exit ${FAKE_COVER_EXIT:-0} ;;
esac
case $1 in
  random) sleep 0.3; echo "end of random" >>"$FAKE_LOG"; echo "1000 bytes compared, 0 mismatching runs, 2 cases with a constant ofmap" ;;
  network) echo "vgg, batch 1: 3000 pictures, 0 mismatching ofmaps, top-1 2744 of 3000" ;;
esac
"""
PLANTED = """#!/bin/sh
""" + LOG + """
[ -z "${FAKE_UNCAUGHT:-}" ] || { echo "1000 bytes compared, 0 mismatching runs"; exit 0; }
echo "  conv_wgmma 256x128 9"
echo "mismatching runs by family: ${FAKE_FAMILIES:-conv_first 9 conv_mma 30 conv_wgmma 40 linear_stream 11}"
echo "1000 bytes compared, 90 mismatching runs"
exit ${FAKE_PLANTED_EXIT:-5}
"""
FAMILY = """#!/bin/sh
""" + LOG + """[ -z "${FAKE_ENDLESS:-}" ] || exec sleep 600
""" + DEVICE + """case $* in *--cover*) echo "2000 calls compared, 0 mismatching"; echo "not launched: shared<1>"; echo "covering cases: 3 fp4.7"; echo "kernels launched: ${FAKE_COVERED:-5 of 6}"; exit ${FAKE_COVER_EXIT:-0} ;; esac
case $1 in
  random)
    [ -z "${FAKE_FAMILY_WRONG:-}" ] || { echo "1000 words compared, 1 mismatching runs"; exit 5; }
    echo "runs by family: portable 50"; echo "1000 words compared, seeds 1 to 2, 0 mismatching runs" ;;
  network) echo "768 words of a trained network compared, 0 mismatching layers"; exit ${FAKE_TRAINED_EXIT:-0} ;;
  bench)
    case $0 in
      *binary*) echo "0 of 5 targets of an H200 met" ;;
      *golden_linear*) echo "${FAKE_MET:-5} of ${FAKE_TARGETS:-9} targets met with constant weights" ;;
      *) echo "a table" ;;
    esac
    exit ${FAKE_TIMES_EXIT:-0} ;;
esac
"""
# By default every kernel is run and caught.
ALL_KERNELS = " ".join(f"{kernel} 7" for kernel in dict.fromkeys(
    kernel for family in families.FAMILIES for kernel in family.kernels))
FAMILY_PLANTED = """#!/bin/sh
""" + LOG + DEVICE + """echo "runs by family: ${FAKE_MET_KERNELS:-""" + ALL_KERNELS + """}"
echo "mismatching runs by family: ${FAKE_FOUND:-""" + ALL_KERNELS + """}"
echo "1000 words compared, 90 mismatching runs"
exit ${FAKE_PLANTED_EXIT:-5}
"""
PROBE = """#!/bin/sh
""" + LOG + """
[ -z "${FAKE_UNEQUAL:-}" ] || { echo "psum 3 differs"; exit 5; }
[ -z "${FAKE_NO_GPU:-}" ] || { echo "skipped: no GPU"; exit 77; }
echo "1048576 values equal on host and device"
"""
REFUSALS = """#!/bin/sh
""" + LOG + """[ -z "${FAKE_NOT_REFUSED:-}" ] || { echo "[  FAILED  ] 1 test"; exit 1; }
[ -z "${FAKE_NOT_TESTED:-}" ] || echo "[  SKIPPED ] 1 test"
echo "[  PASSED  ] 4 tests."
"""
QSIM = """#!/usr/bin/env python3
import json, os, pathlib, sys
words = sys.argv[1:]
fake = os.environ.get
open(fake("FAKE_LOG"), "a").write("qsim " + " ".join(words) + "\\n")
def value(name): return words[words.index(name) + 1]
if words[0] == "verify":
    both = value("--golden") == "cpu,cuda"
    engines = ["golden cuda against cpu"] if both else value("--engines").split(",")
    report = {"golden": fake("FAKE_GOLDEN", value("--golden")), "engines": [
        {"engine": name, "values": 70000, "mismatches": int(fake("FAKE_WRONG", 0))}
        for name in engines if name != fake("FAKE_WITHOUT")]}
elif words[0] == "--model":
    report = {"verify": {"golden": fake("FAKE_GOLDEN", "cuda")}}
elif words[:2] == ["golden", "run"]:
    if fake("CUDA_VISIBLE_DEVICES") == "99": sys.exit(int(fake("FAKE_ABSENT_EXIT", 3)))
    out = pathlib.Path(value("--out"))
    out.mkdir()
    (out / "output.npy").write_text(fake("FAKE_OTHER", "same") if value("--backend") == "cpu" else "same")
    report = {"backend": value("--backend")}
elif words[0] == "eval":
    backend = fake("FAKE_EVAL_BACKEND", value("--backend"))
    out = pathlib.Path(value("--out"))
    out.mkdir()
    for name in ("predictions.npy", "outputs.npy"):
        (out / name).write_text(fake("FAKE_OTHER", "same") if value("--backend") == "cpu" else "same")
    many = "data_batch_1" in value("--data")
    stages = {"reading": 0.02, "computing": 0.01, "judging": 0.01}
    (out / "eval.json").write_text(json.dumps({"engines": [
        {"engine": name, "backend": backend, "pictures": 10000 if many else 3000, "top1_correct": 2686,
         "seconds": 0.4 * float(fake("FAKE_SLOWER", 1)), "stages": stages} for name in value("--engines").split(",")]}))
    sys.exit(0)
elif words[:2] == ["golden", "bench"]:
    if fake("FAKE_BENCH_FAILS"): sys.exit(3)
    seconds = {"256": 6e-3, "32": 8e-4, "1": 1e-4, "10000": 3e-3}[value("--batch")]
    seconds *= 0.25 if "/networks/" in value("--model") else 1
    report = {"backend": "cuda", "seconds": seconds * float(fake("FAKE_SLOWER", 1)),
              "pictures_per_second": 32000, "tops": 1000.0, "share_of_peak": 0.7,
              "kernels": [{"layer": f"conv{i}+conv{i}_relu", "kernel": "conv_wgmma", "seconds": 5e-5,
                           "tops": 1200.0, "share_of_peak": 0.8}
                          for i in range(1, int(fake("FAKE_LAYERS", 13)) + 1)]}
elif words[:2] == ["golden", "abc"]:
    if fake("FAKE_WRONG_WORDS"): sys.exit(5)
    report = {"gpu_times": [{"size": int(size), "binary_seconds": 3e-6, "int8_seconds": 3.2e-6}
                            for size in value("--sizes").split(",")]}
else:
    print("a fake GPU")
    sys.exit(0)
open(value("--json"), "w").write(json.dumps(report))
"""
NAME = """#!/bin/sh
echo 16x16-plain-0123456789abcdef
echo ArrayRows=16
"""
SANITIZER = """#!/bin/sh
echo "compute-sanitizer $* POISON=${QSIM_CUDA_POISON:-}" >>"$FAKE_LOG"
[ -z "${FAKE_REFUSED:-}" ] || { echo "Error: Device not supported"; exit 1; }
[ -z "${FAKE_FINDING:-}" ] || { echo "========= ERROR SUMMARY: 3 errors"; exit 9; }
echo "launched kernels by number: 0 1 2 4 5"
echo "kernels launched: 5 of 6"
echo "========= ERROR SUMMARY: 0 errors"
"""
ORT = """import os, sys
open(os.environ["FAKE_LOG"], "a").write("ort " + " ".join(sys.argv[1:]) + "\\n")
if os.environ.get("FAKE_ORT_FAILS"): sys.exit("onnxruntime 1.0: 512 pictures, 2 mismatches")
print("onnxruntime 1.0: 512 pictures, 0 mismatches")
"""
PACKAGE = """import os, sys
open(os.environ["FAKE_LOG"], "a").write("package " + " ".join(sys.argv[1:]) + "\\n")
if os.environ.get("FAKE_NO_TORCH"): sys.exit("ModuleNotFoundError: No module named 'torch'")
if os.environ.get("FAKE_PACKAGE_FAILS"): sys.exit("20 tests, 200 random cases each, 1 failed, 0 skipped")
print("20 tests, 200 random cases each, 0 failed, 0 skipped")
"""
PEERS = """import json, os, sys
open(os.environ["FAKE_LOG"], "a").write("peers " + " ".join(sys.argv[1:]) + "\\n")
if os.environ.get("FAKE_PEER_FAILS") == sys.argv[1]: sys.exit("CUDA error")
if os.environ.get("FAKE_NO_TORCH"): sys.exit("ModuleNotFoundError: No module named 'torch'")
def row(peer, **more): print(json.dumps({"peer": peer, **more}))
for layer in range(2, 14) if sys.argv[1] == "layers" else ():
    row("cudnn_fp16", layer=f"conv{layer}", seconds=1e-4, tops=600.0)
    row("cublaslt_int8", layer=f"conv{layer}", seconds=float(os.environ.get("FAKE_CUBLASLT", 2e-4)), tops=300.0)
if sys.argv[1] == "sizes": row("cudnn_fp16", layer="8x8", seconds=5.5e-6, tops=0.8)
if sys.argv[1] == "network":
    if sys.argv[-1] == "max-autotune": sys.exit("max-autotune does not work here")
    row("pytorch_fp16", seconds=17.5e-3, images_per_second=14650.0)
"""


class FakeBundle(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bundle = pathlib.Path(self.folder.name)
        shutil.copytree(HERE, self.bundle / "scripts")
        shutil.copy(HERE / "run.sh", self.bundle)
        (self.bundle / "scripts/ort_agreement.py").write_text(ORT)
        (self.bundle / "scripts/peers.py").write_text(PEERS)
        (self.bundle / "scripts/python_package.py").write_text(PACKAGE)
        for name, text in (("golden_cuda_check", CHECK), ("golden_cuda_check_planted", PLANTED),
                           ("golden_binary_cuda_check", FAMILY), ("golden_convert_cuda_check", FAMILY),
                           ("golden_linear_cuda_check", FAMILY), ("golden_binary_cuda_check_planted", FAMILY_PLANTED),
                           ("golden_int8_linear_cuda_check", FAMILY),
                           ("golden_int8_linear_cuda_check_planted", FAMILY_PLANTED),
                           ("golden_linear_cuda_check_planted", FAMILY_PLANTED),
                           ("golden_convert_cuda_check_planted", FAMILY_PLANTED),
                           ("golden_real_cuda_check", FAMILY), ("golden_real_cuda_check_planted", FAMILY_PLANTED),
                           ("golden_train_forward_cuda_check", FAMILY), ("golden_train_gradient_cuda_check", FAMILY),
                           ("golden_real_cuda_refusals_test", REFUSALS),
                           ("requantize_device", PROBE), ("qsim", QSIM), ("rtl_model_name", NAME),
                           ("golden_cuda_executor_refusal_test", REFUSALS),
                           ("golden_linear_cuda_zero_points_test", REFUSALS),
                           ("compute-sanitizer", SANITIZER)):
            path = self.bundle / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (self.bundle / "rtl_models").mkdir()
        (self.bundle / "rtl_models/pe16x16.so").write_text("a model")
        data = self.bundle / "data/cifar10/test_batch.bin"
        data.parent.mkdir(parents=True)
        data.write_text("pictures")

    def run_steps(self, *words, **fakes):
        """(exit code, {step: row's text}, all of stdout)."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("QSIM_")}
        (self.bundle / "log").write_text("")
        shutil.rmtree(self.bundle / "results", ignore_errors=True)
        own["FAKE_LOG"] = str(self.bundle / "log")
        own["PATH"] = f"{self.bundle / 'bin'}:{own['PATH']}"
        done = subprocess.run([self.bundle / "run.sh", *words], env={**own, **fakes}, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rows = {}
        for line in done.stdout.splitlines():
            name, *rest = line.split("  ")
            if rest:
                rows[name] = " ".join(word for word in " ".join(rest).split(" ") if word)
        self.log = (self.bundle / "log").read_text().splitlines()
        return done.returncode, rows, done.stdout + done.stderr

    def logged(self, *parts):
        """The programs' calls that have all the parts."""
        return [line for line in self.log if all(f" {part} " in f" {line} " for part in parts)]

    def test_everything_right_is_ok_and_ends_with_both_tables(self):
        code, rows, text = self.run_steps()
        self.assertEqual(code, 0, text)
        self.assertIn("ok", rows["random shapes"])
        self.assertIn("700 graphs, 1,000 bytes, 0 mismatches", rows["random shapes"])
        self.assertIn("top-1 2744 of 3000", rows["VGG-8, 3,000 pictures"])
        self.assertIn("caught", rows["planted off-by-one"])
        self.assertIn("(default)", rows["peer: PyTorch fp16 VGG-16, batch 256"])
        self.assertTrue(rows["conv2"].endswith("2.00 met"), rows["conv2"])  # 100 us against 50 us
        self.assertIn("80.0%", rows["conv2"])
        self.assertIn("met: 12 layers", rows["each middle layer against its peers"])
        self.assertIn("0 failed, 0 skipped, 0 not there", text)
        model = self.bundle / "lib/qsim/rtl/16x16-plain-0123456789abcdef.so"
        self.assertEqual(model.read_text(), "a model")

    def test_programs_get_the_words_that_make_the_test(self):
        self.run_steps()
        every = "--paths auto,hopper,portable,direct"
        self.assertTrue(self.logged("golden_cuda_check random", "--count 700", every))
        self.assertTrue(self.logged("golden_cuda_check network", "--count 3000", "--images"))
        for batch in (1, 32, 256):
            self.assertTrue(self.logged("golden_cuda_check network", f"--batch {batch}"), batch)
            self.assertTrue(self.logged("golden bench", f"--batch {batch}", "--backend cuda"), batch)
        self.assertTrue(self.logged("golden bench", "--batch 10000", "--backend cuda"))
        self.assertTrue(self.logged("golden abc", "--bases 3 --activation-bases 3", "--batch 32", "--backend cuda"))
        self.assertTrue(self.logged("verify", "--golden cuda", "--engines systemc,rtl"))
        self.assertTrue(self.logged("verify", "--golden cuda", "--engines systemc --model vgg16"))
        self.assertTrue(self.logged("ort", "--batch", "--images 256"))
        for tool in ("memcheck", "racecheck", "synccheck"):
            self.assertTrue(self.logged(f"--tool {tool}", "--every-kernel", "--chosen 3,tile.7 POISON="), tool)
        self.assertTrue(self.logged("--tool initcheck", "--every-kernel", "POISON=0"))
        self.assertEqual(len(self.logged("--cover")), 8)  # once for the four tools

    def test_what_is_measured_runs_alone(self):
        self.run_steps()
        measured = [at for at, line in enumerate(self.log) if " bench " in line or line.startswith("peers")]
        tests = [at for at, line in enumerate(self.log)
                 if line == "end of random" or "verify" in line or " network --" in line and
                 not line.startswith("peers")]
        sanitized = [at for at, line in enumerate(self.log) if line.startswith("compute-sanitizer")]
        self.assertGreater(min(measured), max(tests))
        self.assertGreater(min(measured), max(sanitized))

    def test_quick_does_less(self):
        code, rows, text = self.run_steps("--quick")
        self.assertEqual(code, 0, text)
        self.assertEqual(len(self.logged("golden_cuda_check random", "--count 400 --paths")), 1)
        self.assertFalse(self.logged("bench") or self.logged("--batch 256"))
        self.assertNotIn("compute-sanitizer racecheck", rows)

    def expect_failure(self, step, detail, *words, **fakes):
        code, rows, text = self.run_steps(*(words or ("--only", step)), **fakes)
        self.assertEqual(code, 1, text)
        self.assertRegex(rows[step], f"^FAILED .*{detail}")

    def test_mismatches_fail(self):
        self.expect_failure("random shapes", "exit 5", FAKE_MISMATCH="random")
        self.expect_failure("VGG-16, batch 32", "exit 5", FAKE_MISMATCH="network")

    def test_a_failing_program_fails_each_kind_of_step(self):
        self.expect_failure("requantize on the device", "exit 5", FAKE_UNEQUAL="1")
        self.expect_failure("ONNX Runtime", "2 mismatches", FAKE_ORT_FAILS="1")
        self.expect_failure("VGG-16, batch 1", "exit 3: CUDA", FAKE_CRASH="network")
        self.expect_failure("binary layer over sizes, 3x3 bases, batch 1", "exit 5", FAKE_WRONG_WORDS="1")
        self.expect_failure("peer: cuDNN, the same layer, batch 32", "CUDA error", FAKE_PEER_FAILS="sizes")
        for step in ("refusals", "linear layers, zero points"):
            self.expect_failure(step, "exit 1", FAKE_NOT_REFUSED="1")
            self.expect_failure(step, "exit 0", FAKE_NOT_TESTED="1")
        self.expect_failure("bench VGG-16, batch 1", "exit 3", FAKE_BENCH_FAILS="1")
        for step, what in (("peer: cuDNN and cuBLASLt, layers", "layers"),
                           ("peer: PyTorch fp16 VGG-16, batch 32", "network")):
            self.expect_failure(step, "CUDA error", FAKE_PEER_FAILS=what)

    def test_eval_must_agree_and_be_fast(self):
        self.expect_failure("eval, cuda against cpu", "differ", FAKE_OTHER="other")
        self.expect_failure("eval, cuda against cpu", "golden ran on cpu", FAKE_EVAL_BACKEND="cpu")
        self.expect_failure("eval, 10,000 pictures", "missed", FAKE_SLOWER="3")

    def test_the_command_line_must_take_cuda_and_agree(self):
        self.expect_failure("command line", "golden cpu", FAKE_GOLDEN="cpu")
        self.expect_failure("command line", "differ", FAKE_OTHER="other")
        self.expect_failure("command line", "not there", FAKE_ABSENT_EXIT="0")

    def test_a_missed_target_fails_its_row(self):
        for step, slower in (("bench VGG-16, batch 256", "1.12"), ("bench VGG-16, batch 32", "1.13"),
                             ("bench VGG-16, batch 1", "1.51"), ("bench VGG-8, batch 10000", "1.14"),
                             ("bench ResNet-50, batch 256", "3.01"), ("bench ResNet-18, batch 32", "1.66"),
                             ("bench MobileNetV2, batch 1", "8.1")):
            self.expect_failure(step, "missed: ", FAKE_SLOWER=slower)

    def test_a_layer_slower_than_one_peer_or_not_measured_fails(self):
        words = ("--only", "bench VGG-16, batch 32", "--only", "layer")
        step = "each middle layer against its peers"
        self.expect_failure(step, "missed: conv2 0.80", *words, FAKE_CUBLASLT="4e-5")
        self.expect_failure(step, "not measured: conv13", *words, FAKE_LAYERS="12")

    def test_the_other_steps_run_after_a_failure(self):
        code, rows, text = self.run_steps("--quick", FAKE_MISMATCH="random")
        self.assertEqual(code, 1, text)
        self.assertIn("ok", rows["VGG-16, batch 32"])

    def test_a_planted_fault_must_be_found_as_mismatches(self):
        self.expect_failure("planted off-by-one", "not caught", FAKE_UNCAUGHT="1")
        self.expect_failure("planted off-by-one", "not caught", FAKE_PLANTED_EXIT="3")
        self.expect_failure("planted off-by-one", "not caught in conv_first, linear_stream",
                            FAKE_FAMILIES="conv_mma 3 conv_wgmma 4")

    def test_a_family_of_kernels_must_agree_and_find_its_fault(self):
        code, rows, text = self.run_steps("--only", "binary convolution")
        self.assertEqual(code, 0, text)
        self.assertIn("2,400 cases, seeds 1 to 2400, 1,000 compared, 0 mismatches", rows["binary convolution, random"])
        self.assertTrue(self.logged("golden_binary_cuda_check random", "--count 2400"))
        self.assertTrue(self.logged("--tool racecheck", "random --count 1500 --chosen 3,fp4.7"))
        self.expect_failure("binary convolution, random", "exit 5", FAKE_FAMILY_WRONG="1")
        self.expect_failure("int8 linear layers, random", "exit 5", FAKE_FAMILY_WRONG="1")
        self.expect_failure("gradients of training layers", "exit 5", FAKE_COVER_EXIT="5")
        self.expect_failure("linear layers, random", "exit 5", FAKE_FAMILY_WRONG="1")
        self.expect_failure("linear layers, planted fault", "not caught", FAKE_PLANTED_EXIT="0")
        self.expect_failure("conversions, random", "exit 5", FAKE_FAMILY_WRONG="1")
        self.expect_failure("binary convolution, trained network", "exit 5", FAKE_TRAINED_EXIT="5")
        self.expect_failure("binary convolution, times", "exit 3", FAKE_TIMES_EXIT="3")
        self.expect_failure("binary convolution, planted fault", "not caught", FAKE_PLANTED_EXIT="0")

    def test_a_planted_fault_must_be_found_in_each_kernel_of_the_gpu(self):
        step = "binary convolution, planted fault"
        without = ALL_KERNELS.replace("rows_one_by_one 7 ", "")
        self.expect_failure(step, "not caught in: rows_one_by_one", FAKE_FOUND=without)
        self.expect_failure(step, "not run: rows_one_by_one", FAKE_FOUND=without, FAKE_MET_KERNELS=without)
        self.expect_failure("linear layers, planted fault", "not run: hopper",
                            FAKE_MET_KERNELS=ALL_KERNELS.replace("hopper 7 ", ""))
        few = {"FAKE_FOUND": "portable 50", "FAKE_MET_KERNELS": "portable 50"}
        self.expect_failure(step, "not run: any_bases", **few)
        code, rows, text = self.run_steps("--only", step, FAKE_CAPABILITY="8.0", **few)
        self.assertEqual(code, 0, text)
        self.assertIn("caught: portable 50", rows[step])
        self.assertTrue(self.logged("golden_binary_cuda_check_planted random", "--count 2500"))
        self.expect_failure(step, "names no device", FAKE_CAPABILITY="x y")
        self.expect_failure(step, "not caught; ", FAKE_FOUND=" ")

    def test_fewer_targets_than_an_h200_meets_fail_there_alone(self):
        step = "linear layers, times"
        code, rows, text = self.run_steps("--only", step)
        self.assertEqual(code, 0, text)
        self.assertIn("5 of 9 targets met", rows[step])
        self.expect_failure(step, "4 of 9 targets met .*; at least 5 are expected", FAKE_MET="4")
        self.expect_failure(step, "not 9 targets", FAKE_TARGETS="8")
        code, rows, text = self.run_steps("--only", step, FAKE_MET="4", FAKE_DEVICE="NVIDIA H100 80GB HBM3")
        self.assertEqual(code, 0, text)
        self.assertIn("4 of 9 targets met", rows[step])
        _, rows, _ = self.run_steps("--only", "convolution, times", "--only", "conversions, times")
        self.assertIn("0 of 5 targets of an H200 met", rows["binary convolution, times"])
        self.assertRegex(rows["conversions, times"], "^ok .*a table")

    def test_verify_must_have_used_cuda_and_every_engine(self):
        self.expect_failure("RTL and SystemC, VGG-8", "golden cpu", FAKE_GOLDEN="cpu")
        self.expect_failure("RTL and SystemC, VGG-8", "systemc: 70,000", FAKE_WITHOUT="rtl")
        self.expect_failure("SystemC, VGG-16", "3 mismatches", FAKE_WRONG="3")

    def test_sanitizer_findings_fail_and_its_refusal_is_said(self):
        self.expect_failure("compute-sanitizer memcheck", "3 errors", FAKE_FINDING="1")
        code, rows, text = self.run_steps("--lenient", "--only", "memcheck", FAKE_REFUSED="1")
        self.assertEqual(code, 0)
        self.assertIn("8 steps, 0 failed, 0 skipped, 8 not there", text)
        self.assertIn("not shown: compute-sanitizer memcheck", text)
        self.expect_failure("compute-sanitizer memcheck", "device not supported", FAKE_REFUSED="1")
        self.assertRegex(rows["compute-sanitizer memcheck"], "^not there .*device not supported")
        self.expect_failure("compute-sanitizer memcheck", "device not supported", "--lenient", "--only",
                            "memcheck", FAKE_REFUSED="1", QSIM_REQUIRE="compute-sanitizer")

    def test_a_sanitizer_must_meet_every_kernel_that_the_cases_meet(self):
        step = "compute-sanitizer racecheck, linear layers"
        self.expect_failure(step, "launched 5 kernels, without the sanitizer 6 of 6", FAKE_COVERED="6 of 6")
        self.expect_failure(step, "no cases that cover the kernels", FAKE_COVER_EXIT="5")

    def test_a_kernel_that_no_case_launches_fails(self):
        step = "every kernel has a case"
        code, rows, text = self.run_steps("--only", step)
        self.assertEqual(code, 0, text)
        self.assertRegex(rows[step], "ok .* 1 kernels launched; of 1 the table says why not")
        self.expect_failure(step, "kernels that no case launches: rows<8>", FAKE_OTHER="rows<8>")
        self.expect_failure(step, "no cases that cover the kernels", FAKE_COVER_EXIT="5")
        code, _, text = self.run_steps("--only", step, FAKE_OTHER="rows<8>", FAKE_CAPABILITY="8.0")
        self.assertEqual(code, 0, text)

    def test_a_step_without_end_is_ended(self):
        self.expect_failure("VGG-16, batch 1", "its time was up", "--only", "VGG-16, batch 1",
                            "--minutes", "0.2", FAKE_SLEEPS="network")
        self.expect_failure("VGG-16, batch 1", "not begun", "--only", "VGG-16, batch 1", "--minutes", "0.05")

    def test_an_interrupt_ends_every_program(self):
        own = {**os.environ, "FAKE_LOG": str(self.bundle / "log"), "FAKE_ENDLESS": "1"}
        with subprocess.Popen([self.bundle / "run.sh", "--only", "random shapes", "--only", "gradients"], env=own,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            # Not as inherited: a background job of a shell has SIGINT ignored.
            log = self.bundle / "log"
            while not log.exists() or len(log.read_text().splitlines()) < 4:  # qsim and the probe, one program a lane
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            try:
                self.assertEqual(process.wait(120), 130)  # the programs would take 600 s
            finally:
                process.kill()

    def test_without_data_the_step_is_skipped_unless_required(self):
        shutil.rmtree(self.bundle / "data")
        code, rows, _ = self.run_steps("--lenient", "--only", "3,000")
        self.assertEqual(code, 0)
        self.assertRegex(rows["VGG-8, 3,000 pictures"], "^skipped .*no data")
        self.expect_failure("VGG-8, 3,000 pictures", "no data")
        self.expect_failure("ONNX Runtime", "no data")
        self.expect_failure("VGG-8, 3,000 pictures", "no data", "--lenient", "--only", "3,000",
                            QSIM_REQUIRE="data")
        self.expect_failure("peer: cuDNN and cuBLASLt, layers", "no torch", FAKE_NO_TORCH="1")
        self.expect_failure("Python package", "no torch", FAKE_NO_TORCH="1")
        self.expect_failure("Python package", "1 failed", FAKE_PACKAGE_FAILS="1")

    def test_a_relative_folder_of_data_is_the_callers(self):
        (self.bundle / "data").rename(self.bundle / "elsewhere")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.bundle)
        code, _, text = self.run_steps("--only", "3,000", QSIM_DATA="elsewhere")
        self.assertEqual(code, 0, text)

    def test_without_a_gpu_nothing_begins(self):
        code, _, text = self.run_steps(FAKE_NO_GPU="1")
        self.assertEqual(code, 3)
        self.assertIn("gpu-test: no GPU can be used here: skipped: no GPU", text)

    def test_an_unknown_step_is_a_usage_error(self):
        code, _, text = self.run_steps("--only", "nothing")
        self.assertEqual(code, 2)
        self.assertIn("--list has the names", text)
        for words in (("--only", ""), ("--minutes", "-1"), ("--minutes", "0"), ("--minutes", "nan"),
                      ("--results", "/proc/nothing")):
            code, _, text = self.run_steps(*words)
            self.assertEqual((code, words[0] in text, "Traceback" in text), (2, True, False), text)
        code, _, text = self.run_steps(QSIM_REQUIRE="dta")
        self.assertEqual((code, "QSIM_REQUIRE has dta" in text), (2, True), text)


if __name__ == "__main__":
    unittest.main()
