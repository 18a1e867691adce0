#!/usr/bin/env python3
"""bench/cost_growth: its networks are the shipped ones, its fits are fits, the page is a baseline's."""
import json
import pathlib
import re
import tempfile
import unittest

from samples import ROOT, figure, results as sample

import networks
import page
import points as growth
import results

BASELINES = ROOT / "bench/baselines"
KINDS = {"process": "time", "simulate": "time", "peak": "memory", "import": "time", "compile": "time"}


def layers_of(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith("- ")]


def measured(value_of):
    """Results with every figure that the page needs: value_of(network, array, what)."""
    figures = []
    for network, array in networks.points():
        for what in growth.WHATS:
            kind = KINDS.get(what.split("_")[0], "count")
            figures.append(figure(f"cost_growth/{network.name}/{array}/{what}",
                                  value_of(network, array, what), kind))
    return figures


def load(json_object):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "r.json"
        file.write_text(json.dumps(json_object), encoding="utf8")
        return results.load(file)


def plausible(network, _array, what):
    return {"macs": 7 * network.size ** 2, "model": network.model_bytes(),
            "peak_memory_with_data": network.model_bytes() + 20e6,
            "peak_memory_verified": network.model_bytes() + 30e6,
            "simulate_with_data": 1e-6 * network.size ** 3}.get(what, 1.0 + network.size)


class Networks(unittest.TestCase):
    def test_they_have_the_layers_of_the_shipped_ones(self):
        for network, name in ((networks.VGG8, "vgg8"), (networks.vgg16(224), "vgg16")):
            shipped = (ROOT / f"models/workloads/{name}.yaml").read_text(encoding="utf8")
            self.assertEqual(layers_of(network.workload()), layers_of(shipped))
            for field in ("seed", "input"):
                pattern = rf"(?m)^{field}: .*$"
                self.assertEqual(re.search(pattern, network.workload())[0], re.search(pattern, shipped)[0])

    def test_model_bytes_are_those_of_the_literature(self):
        # Simonyan and Zisserman's configuration D: 138,357,544 parameters, 13,416 of them biases.
        self.assertEqual(networks.vgg16(224).model_bytes(), 138_357_544 + 3 * 13_416)

    def test_pe64x64_is_half_of_tpu128x128(self):
        tpu = (ROOT / "configs/tpu128x128.yaml").read_text(encoding="utf8")
        half = networks.pe64x64(tpu)
        self.assertIn("array_rows: 64\narray_cols: 64\nact_scratchpad_kib: 2048\n", half)
        self.assertIn("bus_bytes: 64\ndram_latency_cycles: 100\n", half)


class Fits(unittest.TestCase):
    def test_the_exponent_of_a_power_is_found(self):
        found = growth.points_of(load(sample(*measured(plausible)))["figures"])
        pictures = growth.vgg16_pictures(found)
        self.assertEqual(len(pictures), len(networks.SIZES))
        self.assertEqual(round(growth.exponent(pictures, "simulate_with_data", "macs"), 9), 1.5)

    def test_points_need_every_figure(self):
        figures = measured(plausible)[1:]
        with self.assertRaisesRegex(growth.Incomplete, "no figure cost_growth/vgg8/pe16x16/process_with_data"):
            growth.points_of(load(sample(*figures))["figures"])

    def test_the_arrays_are_in_order_of_size(self):
        found = growth.points_of(load(sample(*measured(plausible)))["figures"])
        self.assertEqual([p.array for p in growth.by_array(found, "vgg8")], list(networks.ARRAYS))


class Page(unittest.TestCase):
    def test_it_says_how_fast_each_grows_and_that_memory_is_within_the_limit(self):
        text = page.generated(load(sample(*measured(plausible))))
        self.assertRegex(text, r"simulate \| MACs \| 1\.50 \| 1\.50 \|")
        self.assertRegex(text, r"compile \| model \| 0\.\d+ \| 0\.\d+ \|")
        self.assertIn("golden included, is met at all 18 points; the most there is vgg8 on pe16x16 (+30 MB).", text)

    def test_it_tells_no_exponent_against_what_hardly_grows(self):
        def alike(network, array, what):
            if what == "commands":
                return 1000 + network.size / 10 if network.size < 224 else 2 * network.size + 2000
            return plausible(network, array, what)

        text = page.generated(load(sample(*measured(alike))))
        self.assertRegex(text, r"time only \| commands \| \d+\.\d\d \| - \|")
        self.assertRegex(text, r"process \| MACs \| \d+\.\d\d \| \d+\.\d\d \|")

    def test_it_names_every_point_that_misses_the_bound_on_memory_golden_included(self):
        def large_on_pe4x4(network, array, what):
            more = 120e6 if (array, what) == ("pe4x4", "peak_memory_verified") else 0
            return plausible(network, array, what) + more

        text = page.generated(load(sample(*measured(large_on_pe4x4))))
        self.assertIn("golden included, is missed by vgg8 on pe4x4 (+150 MB), vgg16-224 on pe4x4 (+150 MB), "
                      "vgg16-448 on pe4x4 (+150 MB). It is met at the other 15 points; the most there is vgg8 on "
                      "pe16x16 (+30 MB).", text)
        self.assertRegex(text, r"\| vgg16-448 \| pe4x4 \| 447 \|.*\| 0\.0 \| 597 \|\n")

    def test_only_what_is_between_the_marks_changes(self):
        text = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"
        self.assertEqual(page.page_with(text, "new"), f"before\n{page.BEGIN}\nnew\n{page.END}\nafter\n")
        with self.assertRaises(ValueError):
            page.page_with("no marks", "new")

    def test_the_page_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "page.md"
            file.write_text(f"before\n{page.BEGIN}\n{page.END}\n", encoding="utf8")
            page.write(load(sample(*measured(plausible))), file)
            text = file.read_text(encoding="utf8")
        self.assertIn("| vgg16-448 |", text)
        self.assertTrue(text.startswith("before\n"))

    def test_the_page_is_of_a_committed_baseline(self):
        files = [file for file in BASELINES.glob("*.json") if '"cost_growth/' in file.read_text(encoding="utf8")]
        self.assertTrue(files, "bench/baselines has no measurement of cost_growth")
        text = page.PAGE.read_text(encoding="utf8")
        self.assertIn(text, [page.page_with(text, page.generated(results.load(file))) for file in files])


if __name__ == "__main__":
    unittest.main()
