"""What the tests of pages of --report have in common: they make pages with qsim and open them in headless Chromium.

usage of a test: TEST QSIM [--keep DIR]    (--keep: leave the pages and pictures in DIR)
Exit code 77: skipped, because Chromium or the chart library is not there; QSIM_REQUIRE=charts makes that a failure.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser

MOST_BYTES = 2_000_000


def make(qsim, folder, name, words):
    """NAME.html and NAME.json in the folder."""
    subprocess.run([qsim, *words, "--quiet", "--report", f"{name}.html", "--json", f"{name}.json"], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)


class PageTest(unittest.TestCase):
    folder = None
    browser = None

    def show(self, name, width=1280, mobile=False, scheme="light"):
        page = self.browser
        page.errors.clear()
        page.requests.clear()
        page.scheme(scheme)
        page.size(width, mobile=mobile)
        page.open(self.folder / f"{name}.html")
        return page

    def no_complaint(self, page, name):
        page.value("new Promise(done => setTimeout(done, 100))")
        self.assertEqual(page.errors, [], name)
        self.assertEqual(page.requests, [], name)

    def report(self, name):
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def choose(self, element, value):
        self.browser.value(f"(() => {{ const s = document.getElementById('{element}'); s.value = '{value}'; "
                           "s.dispatchEvent(new Event('change')); })()")

    def rows(self, table):
        """The cells of a table's body, as text."""
        return self.browser.value(f"[...document.querySelector('{table}').tBodies[0].rows]"
                                  ".map(r => [...r.cells].map(c => c.textContent))")


def pictures(test, names):
    """For people to look at: every page, wide and narrow, light and dark."""
    for name in names:
        for width, mobile in ((1280, False), (375, True)):
            for scheme in ("light", "dark"):
                page = test.browser
                page.scheme(scheme)
                page.size(width, mobile=mobile)
                page.open(test.folder / f"{name}.html")
                page.value("new Promise(done => setTimeout(done, 300))")
                page.picture(test.folder / f"{name}-{width}-{scheme}.png")


def main(test, make_pages, names):
    """Runs the tests of `test`, a PageTest, on the pages that make_pages(qsim, folder) makes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("qsim", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    qsim = arguments.qsim.resolve()
    needs = (("Chromium", browser.executable()), ("the chart library", (qsim.parent / "charts" / "vega.js").exists()))
    lacking = [what for what, is_there in needs if not is_there]
    if lacking:
        print(" and ".join(lacking) + " not found")
        sys.exit(1 if "charts" in os.environ.get("QSIM_REQUIRE", "").split(",") else 77)
    with tempfile.TemporaryDirectory() as scratch:
        test.folder = arguments.keep or pathlib.Path(scratch)
        test.folder.mkdir(exist_ok=True)
        make_pages(qsim, test.folder)
        with browser.Browser() as test.browser:
            if arguments.keep:
                pictures(test, names)
            done = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    sys.exit(0 if done.result.wasSuccessful() else 1)
