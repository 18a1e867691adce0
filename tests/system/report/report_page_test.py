#!/usr/bin/env python3
"""Pages of --report in headless Chromium: charts are drawn, without a script error and without the network, at the
width of a desktop and of a phone, light and dark, with the keyboard alone; every number is that of --json; names of
layers stay text.

usage: report_page_test.py QSIM [--keep DIR]    (pages.py says more)
"""
import sys

sys.dont_write_bytecode = True
import pages  # noqa: E402

HOSTILE = "<img src=x onerror=alert(1)>"
SMALL = f"""name: small
seed: 11
input: {{shape: [1, 12, 12, 3], dtype: uint8}}
layers:
  - {{op: conv2d, name: "{HOSTILE}", out_channels: 8, kernel: 3, pad: 1, relu: true}}
  - {{op: conv2d, name: "</script><script>alert(2)</script>", out_channels: 8, kernel: 3, pad: 1}}
  - {{op: flatten, name: flat}}
  - {{op: fully_connected, name: last, out_features: 7}}
"""
TOPOLOGY = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
first, 18, 14, 3, 3, 20, 24, 1,
second, 9, 9, 3, 3, 4, 40, 2,
gemm, 30, 50, 1, 50, 1, 10, 1,
"""
CHARTS = ("roofline", "cycles", "utilization", "dram", "energy")
PAGES = {  # name: arguments of qsim
    "vgg8": ["--config", "pe16x16", "run", "--energy", "horowitz-45nm"],
    "vgg16": ["--config", "pe16x16", "run", "--model", "vgg16", "--no-data", "--engine", "recurrence",
              "--energy", "horowitz-45nm"],
    "fc": ["--config", "pe4x4", "run", "--model", "vgg8-cifar10", "--no-data", "--dataflow", "os"],
    "joined": ["--config", "pe4x4", "run", "--model", "vgg16", "--batch", "3", "--no-data", "--engine", "recurrence"],
    "topology": ["--config", "pe8x8", "run", "--model", "net.csv", "--no-data", "--energy", "horowitz-45nm"],
    "hostile": ["run", "--model", "small.yaml", "--energy", "eyeriss-65nm"],
}


def make_pages(qsim, folder):
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    (folder / "net.csv").write_text(TOPOLOGY, encoding="utf-8")
    for name, words in PAGES.items():
        pages.make(qsim, folder, name, words)


class Pages(pages.PageTest):
    def test_every_chart_is_drawn_without_an_error_and_without_the_network(self):
        for name in PAGES:
            page = self.show(name)
            layers = len(self.report(name)["layers"])
            has_energy = "--energy" in PAGES[name]
            for chart in CHARTS:
                if chart == "energy" and not has_energy:
                    continue
                marks = page.value(f"document.querySelectorAll('#chart-{chart} svg path').length")
                self.assertGreaterEqual(marks, layers, f"{name}: marks of {chart}")
            self.assertEqual(page.value("document.querySelectorAll('#chart-timeline canvas').length"), 1, name)
            self.no_complaint(page, name)

    def colours(self, page):
        """Of the timeline's opaque pixels."""
        page.value("new Promise(done => setTimeout(done, 150))")
        return set(page.value("""(() => { const c = document.querySelector('#chart-timeline canvas');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add('#' + [0, 1, 2].map(j => d[i + j].toString(16).padStart(2, '0')).join(''));
            return [...seen]; })()"""))

    def test_the_timeline_draws_every_unit_that_works(self):
        page = self.show("vgg8")
        page.value("(() => { const s = document.getElementById('timeline-layer'); s.value = 0; s.dispatchEvent(new Event('change')); })()")
        seen = self.colours(page)
        for lane, colour in (("LOAD activations", "#f0e442"), ("EXECUTE", "#0072b2"), ("POST", "#cc79a7"), ("STORE", "#d55e00")):
            self.assertIn(colour, seen, lane)

    def test_no_page_is_longer_than_two_megabytes(self):
        for name in PAGES:
            self.assertLess((self.folder / f"{name}.html").stat().st_size, pages.MOST_BYTES, name)

    def test_the_numbers_of_the_tables_are_those_of_the_json(self):
        page = self.show("vgg8")
        report = self.report("vgg8")
        rows = page.value("[...document.querySelector('#layers table').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
        self.assertEqual(len(rows), len(report["layers"]) + 1)
        for row, layer in zip(rows, report["layers"] + [{"name": "total", **report["total"]}]):
            self.assertTrue(row[0].endswith(layer["name"]), row)
            self.assertEqual([row[3], row[4], row[6]], [f"{layer['macs']:,}", f"{layer['cycles']:,}",
                                                        f"{100 * layer['utilization']:.1f}%"], row)
        causes = page.value("[...document.querySelectorAll('#cycles tbody tr')].map(r => [...r.cells].slice(1).map(c => Number(c.textContent.replaceAll(',', ''))))")
        for row, layer in zip(causes, report["layers"] + [report["total"]]):
            self.assertEqual(row[0], layer["cycles"])
            self.assertEqual(sum(row[1:]), layer["cycles"])
        units = page.value("[...document.querySelectorAll('#timeline tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        for row in units:
            unit = report["total"]["units"][row[0].lower()]
            self.assertEqual(row[1], f"{unit['busy_cycles']:,}")
            self.assertEqual(sum(int(row[i].replace(",", "")) for i in (1, 3, 4)), report["total"]["cycles"], row)

    def test_the_timeline_has_the_busy_cycles_of_every_unit(self):
        for name in PAGES:
            page = self.show(name)
            report = self.report(name)
            busy = page.value("""(() => { const lanes = PAGE.runs[0].timeline.lanes; const result = {};
                for (const [lane, text] of Object.entries(lanes)) result[lane] = decodeLane(text).busy.reduce((a, b) => a + b, 0);
                return result; })()""")
            units = report["total"]["units"]
            loads = sum(cycles for lane, cycles in busy.items() if lane.startswith("load_"))
            self.assertEqual(loads, units["load"]["busy_cycles"], name)
            for unit in ("execute", "post", "store"):
                self.assertEqual(busy[unit], units[unit]["busy_cycles"], f"{name}: {unit}")
            self.assertEqual([busy["load_" + lane] for lane in ("activations", "weights", "parameters")],
                             list(report["total"]["read_bus_cycles"].values()), name)

    def test_a_phone_needs_no_scrolling_to_the_side(self):
        for name in PAGES:
            page = self.show(name, width=375, mobile=True)
            width = page.value("document.documentElement.scrollWidth")
            self.assertLessEqual(width, 375, name)
            wider = page.value("""[...document.querySelectorAll('svg, canvas, .tiles, figure, h1, p, select, button')].filter(e => !e.closest('.wide') &&
                e.getBoundingClientRect().right > 375.5).map(e => e.outerHTML.slice(0, 80))""")
            self.assertEqual(wider, [], name)
            self.no_complaint(page, name)

    def test_dark_and_light_differ_and_follow_a_change(self):
        page = self.show("vgg8", scheme="dark")
        dark = page.value("getComputedStyle(document.body).backgroundColor")
        label = "getComputedStyle(document.querySelector('#chart-cycles svg text')).fill"
        dark_text = page.value(label)
        page.scheme("light")
        page.wait_for(f"{label} !== '{dark_text}'")
        self.assertNotEqual(page.value("getComputedStyle(document.body).backgroundColor"), dark)
        self.no_complaint(page, "vgg8")

    def test_the_keyboard_reaches_everything_and_shows_where_it_is(self):
        page = self.show("vgg8")
        self.assertEqual(page.value("document.activeElement.tagName"), "BODY")
        seen = []
        for _ in range(400):
            page.key("Tab", 9)
            where = page.value("""(() => { const e = document.activeElement; if (e === document.body) return null;
                const name = e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels[0] && e.labels[0].textContent);
                const style = getComputedStyle(e); const box = e.getBoundingClientRect();
                return [e.tagName, e.id || e.className, name, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
                        box.right > 0 && box.bottom > 0]; })()""")
            if where is None:
                break
            seen.append(where)
        self.assertGreater(len(seen), 20)
        for tag, name, label, has_outline, is_there in seen:
            self.assertTrue(label and has_outline and is_there, (tag, name, label, has_outline, is_there))
        self.assertEqual(seen[0][1], "skip")
        self.assertTrue(any(name == "timeline-view" for _, name, *_ in seen))
        all_of_them = page.value("""[...document.querySelectorAll('a[href], button, select, summary, [tabindex="0"]')].filter(e => e.checkVisibility()).length""")
        self.assertEqual(len(seen), all_of_them)

    def test_the_skip_link_leads_to_the_numbers(self):
        page = self.show("vgg8")
        page.key("Tab", 9)
        page.key("Enter", 13, "\r")
        self.assertEqual(page.value("document.activeElement.id"), "main")

    def window(self, page):
        page.value("new Promise(done => setTimeout(done, 80))")
        return page.value("document.getElementById('timeline-words').textContent").split(" of ")[0]

    def test_the_timeline_moves_by_keys_and_buttons(self):
        page = self.show("vgg8")
        whole = self.window(page)
        self.assertEqual(whole, f"Cycles 0 to {self.report('vgg8')['total']['cycles']:,}")
        page.value("document.getElementById('timeline-view').focus()")
        seen = [whole]
        for key, text in (("+", "+"), ("+", "+"), ("ArrowRight", None), ("ArrowLeft", None), ("End", None), ("-", "-")):
            page.key(key, text=text)
            seen.append(self.window(page))
            self.assertNotEqual(seen[-1], seen[-2], key)
        self.assertEqual(seen[4], seen[2])
        page.key("0", text="0")
        self.assertEqual(self.window(page), whole)
        for _ in range(40):
            page.key("+", text="+")
        first, last = (int(word.replace(",", "")) for word in self.window(page).split()[1::2])
        self.assertEqual(last - first, 20)
        page.value("document.querySelector('[aria-label=\"Zoom out\"]').click()")
        self.assertNotEqual(self.window(page), f"Cycles {first:,} to {last:,}")
        layers = self.report("vgg8")["layers"]
        page.value("(() => { const s = document.getElementById('timeline-layer'); s.value = 1; s.dispatchEvent(new Event('change')); })()")
        begin = layers[0]["cycles"]
        self.assertEqual(self.window(page), f"Cycles {begin:,} to {begin + layers[1]['cycles']:,}")
        self.no_complaint(page, "vgg8")

    def test_names_of_layers_are_text(self):
        page = self.show("hostile")
        self.assertEqual(page.value("document.querySelectorAll('img, main script').length"), 0)
        self.assertIn(HOSTILE, page.value("document.querySelector('#layers tbody th').textContent"))
        # The tooltip, which is made of HTML.
        page.value("document.querySelector('#chart-cycles').scrollIntoView({block: 'center'})")
        box = page.value("(() => { const b = document.querySelector('#chart-cycles svg .mark-rect path').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        page.wait_for("(document.querySelector('#vg-tooltip-element') || {textContent: ''}).textContent.includes('onerror')")
        self.assertEqual(page.value("document.querySelectorAll('#vg-tooltip-element img').length"), 0)
        self.no_complaint(page, "hostile")

    def test_a_screen_reader_gets_names_for_charts_and_regions(self):
        page = self.show("vgg8")
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        named = {(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored") and "role" in n}
        for role, name in (("heading", "Roofline"), ("navigation", "Contents"), ("region", "The layers")):
            self.assertIn((role, name), named)
        self.assertTrue(any("Roofline: MACs" in name for role, name in named if "graphics" in role.lower() or role in ("img", "image", "document")), sorted(named)[:40])
        self.assertEqual([r for r, n in named if r in ("button", "link", "combobox") and not n], [])

    def test_the_words_of_the_terms_are_all_there(self):
        page = self.show("vgg8")
        missing = page.value("[...document.querySelectorAll('main abbr')].filter(a => !a.title || a.title.length < 10).map(a => a.textContent)")
        self.assertEqual(missing, [])
        self.assertNotIn("undefined", page.value("document.body.innerText"))
        self.assertNotIn("NaN", page.value("document.body.innerText"))


if __name__ == "__main__":
    pages.main(Pages, make_pages, PAGES)
