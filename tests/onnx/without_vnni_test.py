"""ONNX Runtime on a processor with AVX2 and no VNNI, which qemu-user emulates: a plain session is wrong
there, and tools/ort is right, on the worst cases and on the shipped model.

usage: without_vnni_test.py ORT_DIR QSIM
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/emulated"))
import emulator  # noqa: E402

MODEL = ROOT / "models/vgg8-cifar10/vgg8-int8.onnx"
ORT_DIR, QSIM = map(pathlib.Path, sys.argv[1:3])
PICTURES = 3
SEED = 3


def emulated(script, *words):
    """Exit code and stdout of a script of tools/ort; TCG warns of features that it lacks on stderr."""
    command = [*emulator.words_on("Haswell"), ORT_DIR / "bin/python", "-B", ROOT / "tools/ort" / script, *words]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf8", check=False)
    print(done.stdout, done.stderr.replace("qemu-x86_64: warning:", "qemu:"), sep="")
    return done.returncode, done.stdout


def our_logits(picture, folder):
    np.save(folder / "one.npy", picture)
    subprocess.run([QSIM, "--model", MODEL, "--input", folder / "one.npy", "--out", folder / "qsim",
                    "--no-verify", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return np.load(folder / "qsim/output.npy")


class WithoutVnni(unittest.TestCase):
    def test_a_plain_session_is_wrong_on_the_worst_cases_of_uint8_data(self):
        code, text = emulated("worst_case.py", "--plain")
        self.assertEqual((code, text.splitlines()[-1]), (1, "not exact"))
        for operator in ("QLinearConv", "QGemm", "QLinearMatMul"):
            self.assertRegex(text, f"{operator} .* uint8 images: [0-9]+ of [0-9]+ values differ")

    def test_the_rewritten_model_is_exact_on_the_worst_cases(self):
        self.assertEqual(emulated("worst_case.py"), (0, "exact\n"))

    def test_logits_of_the_shipped_model_equal_ours(self):
        pictures = np.random.default_rng(SEED).normal(0, 0.6, (PICTURES, 3, 32, 32)).astype(np.float32)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "all.npy", pictures)
            ours = np.concatenate([our_logits(picture[np.newaxis], folder) for picture in pictures])

            def theirs(*options):
                words = [*options, MODEL, folder / "all.npy", folder / "ort"]
                self.assertEqual(emulated("run_onnx.py", *words)[0], 0)
                return np.load(folder / "ort/output.npy")
            exact, plain = theirs(), theirs("--plain")
        self.assertGreaterEqual(len(np.unique(ours)), 8)
        self.assertEqual(exact.tobytes(), ours.tobytes())
        self.assertGreater(np.count_nonzero(plain.ravel() != ours.ravel()), 0)


if __name__ == "__main__":
    emulator.exit_if_missing()
    print(f"seed {SEED}")
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
