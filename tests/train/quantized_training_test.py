#!/usr/bin/env python3
"""models/train/train_quantized.py as a user starts it, on a CPU with small networks. Skips (77) without PyTorch.

The environment has QSIM_GOLDEN_LIBRARY. Pictures are of ten colors with noise, so that a few steps can tell them apart.
"""
import contextlib
import io
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

SKIPPED = 77

try:
    import numpy as np
    import torch

    from small_trainings import SMALL, TRAIN, write_pictures
    import data
    import quantized_networks
    import train_quantized
    import vgg8
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)
def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


class StopAfter(train_quantized.Interrupt):
    """Ctrl-C at a step: run() asks it twice in a step."""

    steps = 3

    def __init__(self):
        self.times = 0

    @property
    def asked(self):
        self.times += 1
        return self.times > 2 * self.steps - 2


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.pictures = pathlib.Path(cls.shared.name) / "pictures"
        write_pictures(cls.pictures, data.CLASS_NAMES, 6)

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        small = mock.patch.object(vgg8, "LAYERS", SMALL)
        small.start()
        self.addCleanup(small.stop)

    def train(self, out, *options, dataset=None):
        """(exit code, stdout, stderr)"""
        printed, errors = io.StringIO(), io.StringIO()
        common = ["--dataset", dataset or self.pictures, "--device", "cpu", "--batch-size", 20, "--report-steps", 1, "--threads", 1,
                  "--out", self.folder / out]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            try:
                code = train_quantized.main([str(option) for option in (*common, *options)])
            except SystemExit as end:  # of argparse
                code = end.code
        return code, printed.getvalue(), errors.getvalue()

    def files(self, out):
        return {file.name: file.read_bytes() for file in (self.folder / out).iterdir() if file.suffix in (".onnx", ".yaml")}

    def weights(self, out):
        return torch.load(self.folder / out / "vgg8.pt")


class Training(Runs):
    def test_the_loss_falls_on_integers_and_without(self):
        for name, options in {"plain": [], "8": ["--quantize"], "4": ["--quantize", "--weight-bits", 4]}.items():
            log = self.folder / f"{name}.jsonl"
            code, _, errors = self.train(name, *options, "--epochs", 14, "--rate", 0.1, "--log", log)
            self.assertEqual((code, errors), (0, ""))
            losses = [line["loss"] for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "step"]
            self.assertEqual(len(losses), 42)
            self.assertLess(losses[-1], 0.75 * losses[0], name)

    def test_an_interrupted_run_goes_on_to_the_same_bits(self):
        for name, options in {"plain": [], "quantized": ["--quantize"]}.items():
            options = [*options, "--epochs", 2, "--recipe", "mix"]
            self.assertEqual(self.train(f"{name}-whole", *options)[0], 0)
            with mock.patch.object(train_quantized, "Interrupt", StopAfter):
                code, printed, _ = self.train(f"{name}-cut", *options)
            self.assertEqual(code, 130)
            self.assertIn("interrupted after 3 steps; the same command goes on", printed)
            self.assertEqual(self.files(f"{name}-cut"), {})
            code, printed, _ = self.train(f"{name}-cut", *options)
            self.assertEqual(code, 0)
            self.assertIn("resumed after 3 of 6 steps", printed)
            whole, cut = self.weights(f"{name}-whole"), self.weights(f"{name}-cut")
            self.assertEqual(whole.keys(), cut.keys())
            for key in whole:
                self.assertTrue(torch.equal(whole[key], cut[key]), key)
            self.assertEqual(self.files(f"{name}-whole"), self.files(f"{name}-cut"))
            self.assertEqual(len(self.files(f"{name}-cut")), 2)

    def test_ctrl_c_ends_a_process_with_130_and_a_checkpoint(self):
        command = [sys.executable, "-B", TRAIN / "train_quantized.py", "--dataset", self.pictures, "--device", "cpu", "--epochs", 1000,
                   "--network", "vgg8", "--batch-size", 2, "--report-steps", 1, "--threads", 1, "--out", self.folder / "out"]
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
            while not process.stdout.readline().startswith("step 1/"):
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            last = process.communicate(timeout=120)[0].splitlines()[-1]
        self.assertEqual(process.returncode, 130)
        self.assertRegex(last, "interrupted after [0-9]+ steps")
        self.assertTrue((self.folder / "out/checkpoint.pt").exists())

    def test_ctrl_c_before_the_first_step_is_quiet(self):
        command = [sys.executable, "-B", "-X", "importtime", TRAIN / "train_quantized.py", "--dataset", self.pictures, "--device", "cpu",
                   "--out", self.folder / "out"]
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while " argparse" not in (line := process.stderr.readline()):
                self.assertTrue(line)
            process.send_signal(signal.SIGINT)
            printed, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, printed), (130, ""))
        self.assertNotIn("Traceback", errors)

    def test_other_seeds_pictures_and_bits_give_other_weights(self):
        self.train("a", "--quantize", "--epochs", 1)
        first = self.weights("a")["0.weight"]
        for name, options in {"seed": ["--seed", 2], "bits": ["--weight-bits", 3], "recipe": ["--recipe", "strong"],
                              "scale": ["--scale", "power_of_two"], "points": ["--zero-points"]}.items():
            self.train(name, "--quantize", "--epochs", 1, *options)
            self.assertFalse(torch.equal(self.weights(name)["0.weight"], first), name)

    def test_threads_are_qsims_too_and_change_no_bit(self):
        self.train("one", "--quantize", "--epochs", 1)
        with mock.patch.object(quantized_networks.qsim_torch(), "set_threads", wraps=quantized_networks.qsim_torch().set_threads) as given:
            self.train("three", "--quantize", "--epochs", 1, "--threads", 3, "--log", self.folder / "three/log.csv")
        self.addCleanup(quantized_networks.qsim_torch().set_threads, 1)
        given.assert_called_once_with(3)
        one, three = self.weights("one"), self.weights("three")
        self.assertTrue(all(torch.equal(one[name], three[name]) for name in one))
        self.assertTrue((self.folder / "three/log.csv").exists())

    def test_weights_of_a_plain_run_begin_a_quantized_one(self):
        self.train("plain", "--epochs", 1)
        code, _, errors = self.train("quantized", "--quantize", "--epochs", 0.3, "--rate", 0, "--average", 0, "--weights",
                                     self.folder / "plain/vgg8.pt")
        self.assertEqual((code, errors), (0, ""))
        found, given = self.weights("quantized"), self.weights("plain")
        for name in (name for name in given if name.endswith("weight")):
            self.assertTrue(torch.equal(found[name], given[name]), name)

    def test_averaged_weights_lag_after_the_last_ones(self):
        self.train("last", "--epochs", 2, "--average", 0)
        self.train("averaged", "--epochs", 2, "--average", 0.999)
        a, b = self.weights("last"), self.weights("averaged")
        self.assertFalse(torch.equal(a["0.weight"], b["0.weight"]))
        self.assertTrue(torch.equal(a["1.num_batches_tracked"], b["1.num_batches_tracked"]))


class Pictures(Runs):
    def test_pictures_of_any_size_and_classes_of_any_name_are_read(self):
        for part in ("train", "val"):
            write_pictures(self.folder / "set" / part, ["no", "b: c", "große"], 8, (53, 40), seed=3)
        code, printed, errors = self.train("out", "--size", 24, "--epochs", 2, "--batch-size", 8, dataset=self.folder / "set")
        self.assertEqual((code, errors), (0, ""))
        self.assertIn("24 pictures of 3 classes, 24x24 pixels", printed)
        self.assertIn("of 24 test pictures", printed)
        labels = json.loads((self.folder / "out/vgg8-float.yaml").read_text())["labels"]
        self.assertEqual(labels, ["b: c", "große", "no"])
        code, printed, _ = self.train("own", "--epochs", 0.1, "--batch-size", 8, dataset=self.folder / "set")
        self.assertIn("40x40 pixels", printed)  # the middle square of 53 x 40

    def test_some_of_the_classes_of_cifar10_are_all_that_is_trained(self):
        write_pictures(self.folder / "pets", ["dog", "cat"], 10)
        code, printed, _ = self.train("out", "--epochs", 0.5, dataset=self.folder / "pets")
        self.assertEqual(code, 0)
        self.assertIn("20 pictures of 2 classes", printed)

    def test_pictures_that_do_not_fit_are_decoded_for_each_batch_to_the_same_weights(self):
        import picture_sets
        self.train("kept", "--epochs", 1)
        with mock.patch.object(picture_sets, "KEPT_BYTES", 1000):
            self.train("read", "--epochs", 1)
        self.assertTrue(torch.equal(self.weights("kept")["0.weight"], self.weights("read")["0.weight"]))

    def test_cifar10_is_found_in_its_own_files(self):
        batches = self.folder / "data/cifar-10-batches-bin"
        batches.mkdir(parents=True)
        numbers = np.random.default_rng(5)
        for name in ("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"):
            records = numbers.integers(0, 256, (15, data.RECORD_BYTES), dtype=np.uint8)
            records[:, 0] %= 10
            (batches / name).write_bytes(records.tobytes())
        code, printed, _ = self.train("out", "--data", self.folder / "data", "--epochs", 1, dataset="cifar10")
        self.assertEqual(code, 0)
        self.assertIn("30 pictures of 10 classes, 32x32 pixels", printed)
        self.assertIn("of 15 test pictures", printed)

    def test_a_log_with_commas_has_a_column_a_value(self):
        log = self.folder / "log.csv"
        self.train("out", "--epochs", 1, "--log", log, "--test", self.pictures)
        rows = [line.split(",") for line in log.read_text().splitlines()]
        self.assertEqual(rows[0], ["event", "step", "epoch", "loss", "rate", "seconds", "correct", "pictures"])
        self.assertEqual([row[0] for row in rows[1:]], ["start", "step", "step", "step", "test", "exported"])
        self.assertTrue(all(len(row) == 8 for row in rows))
        self.assertEqual(rows[5][7], "60")


class BadInput(Runs):
    def refused(self, message, *options, dataset=None):
        code, _, errors = self.train("bad", *options, dataset=dataset)
        self.assertEqual(code, 2, errors)
        self.assertRegex(errors, message)
        self.assertEqual(errors.count("\n"), 1, errors)

    def test_what_it_cannot_do_is_one_line_and_exit_code_2(self):
        (self.folder / "empty").mkdir()
        (self.folder / "loose.txt").write_text("no pictures")
        write_pictures(self.folder / "one", ["cat"], 3)
        write_pictures(self.folder / "tiny", ["cat", "dog"], 20, (6, 6))
        write_pictures(self.folder / "broken", ["cat", "dog"], 2)
        (self.folder / "broken/dog/zz.png").write_bytes(b"\x89PNG, or so it says")
        write_pictures(self.folder / "other", ["whale"], 1)
        (self.folder / "flat.zip").write_bytes(zipped({"picture.png": b""}))
        self.refused("neither cifar-10-batches-bin nor cifar-10-batches-py in", "--data", self.folder, dataset="cifar10")
        self.refused("nowhere: no such file or folder", dataset=self.folder / "nowhere")
        self.refused("empty: no .jpg, .jpeg, .png in it", dataset=self.folder / "empty")
        self.refused("loose.txt: neither a folder, a zip of pictures nor a CIFAR-10 binary batch", dataset=self.folder / "loose.txt")
        self.refused("picture.png is in no class folder; expected <class>/<file>", dataset=self.folder / "flat.zip")
        self.refused("one class, 'cat'; training needs two or more", dataset=self.folder / "one")
        self.refused("6x6 pixels are too small for vgg8, which needs 8x8", dataset=self.folder / "tiny")
        self.refused("dog/zz.png cannot be read as a picture: its bytes are of no known format$", "--batch-size", 2, dataset=self.folder / "broken")
        self.refused("folder 'whale' is no class of training: airplane, ", "--test", self.folder / "other")
        self.refused("60 pictures are fewer than a batch of 61", "--batch-size", 61)
        self.refused("--epochs: 'inf' is not a number in", "--epochs", "inf")
        self.refused("--weight-bits: '1' is not an integer in 2..8", "--weight-bits", 1)
        self.refused("--network: invalid choice: 'lenet'", "--network", "lenet")
        self.refused("loose.txt has no weights of this network", "--weights", self.folder / "loose.txt")
        self.refused("Is a directory", "--log", self.folder)
        for option, value in (("--weight-bits", 4), ("--scale", "float"), ("--observer", "last")):
            self.refused(f"{option} is for training on integers; give --quantize too", option, value)
        self.refused("--zero-points is for training on integers", "--zero-points")
        with mock.patch.dict(sys.modules, {"onnx": None}):
            self.refused("--quantize: the package onnx, which writes the file at the end, is not installed", "--quantize")
        self.assertFalse((self.folder / "bad").exists())

    def test_an_unknown_option_is_named_before_a_missing_one(self):
        for options, message in ((["--quantise"], "there is no option --quantise; did you mean --quantize?"),
                                 (["--xyz=3", "--epochs", "inf"], "there is no option --xyz; --help lists all"),
                                 (["--quantize"], "the following arguments are required: --dataset")):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as ended:
                train_quantized.main(options)
            self.assertEqual(ended.exception.code, 2)
            self.assertTrue(errors.getvalue().endswith(f": error: {message}\n"), errors.getvalue())

    def test_weights_of_another_network_are_refused_by_name(self):
        torch.save({"0.weight": torch.zeros(8, 3, 3, 3)}, self.folder / "part.pt")
        self.refused("part.pt has no weights of this network: it has no '1.bias'", "--weights", self.folder / "part.pt")
        wide = {name: torch.zeros(7, 7) for name, _ in quantized_networks.make_network("vgg8", 10, 32, 0, None).named_parameters()}
        torch.save(wide, self.folder / "wide.pt")
        self.refused("has no weights of this network: size mismatch", "--weights", self.folder / "wide.pt")

    def test_a_checkpoint_of_other_options_is_refused_by_name(self):
        self.train("bad", "--epochs", 0.1)
        self.refused(r"checkpoint.pt is of a run with other options \(seed\)", "--epochs", 0.1, "--seed", 9)

    def test_a_checkpoint_that_cannot_be_read_is_refused(self):
        (self.folder / "bad").mkdir()
        (self.folder / "bad/checkpoint.pt").write_bytes(b"half a checkpoint")
        self.refused("checkpoint.pt cannot be read; delete it$", "--epochs", 0.1)
        torch.save({"step": 1}, self.folder / "bad/checkpoint.pt")
        self.refused("checkpoint.pt cannot be read; delete it$", "--epochs", 0.1)

    def test_a_file_that_cannot_be_written_at_the_end_is_one_line(self):
        (self.folder / "bad/vgg8-int8.onnx").mkdir(parents=True)
        self.refused("vgg8-int8.onnx", "--quantize", "--epochs", 0.1)

    def test_a_picture_that_cannot_be_read_later_ends_the_run(self):
        write_pictures(self.folder / "broken", ["cat", "dog"], 2)
        (self.folder / "broken/dog/zz.png").write_bytes(b"no picture")
        import picture_sets
        with mock.patch.object(picture_sets, "KEPT_BYTES", 1000):
            self.refused("dog/zz.png cannot be read as a picture", "--batch-size", 5, dataset=self.folder / "broken")

    def test_a_loss_that_is_not_finite_ends_the_run(self):
        state = quantized_networks.make_network("vgg8", 10, 32, 0, None).state_dict()
        state["0.weight"][0, 0, 0, 0] = float("nan")
        torch.save(state, self.folder / "nan.pt")
        self.refused("step 1: the loss is nan; a smaller --rate may help", "--weights", self.folder / "nan.pt")
        self.refused("step 1: weights are not finite; a smaller --rate may help", "--quantize", "--weights", self.folder / "nan.pt")


if __name__ == "__main__":
    unittest.main()
