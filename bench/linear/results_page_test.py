#!/usr/bin/env python3
"""The page of times has each table with a row for each mode and size, and numbers in each cell.

usage: results_page_test.py RESULTS_PAGE QSIM
"""
import pathlib
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        subprocess.run(["/usr/bin/python3", "-B", sys.argv[1], sys.argv[2], page, "--sizes", "1024x1024",
                        "--iters", "1"], check=True)
        lines = page.read_text().splitlines()
    titles = [line for line in lines if line.startswith("## ")]
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith(("| cpu_", "| gpu_"))]
    assert len(titles) == 5, titles
    assert len(rows) in (10, 15), rows
    for row in rows:
        assert len(row) == 12 and float(row[5]) > 0 and row[8].endswith("%"), row
        assert (row[0] == "cpu_fp32") == (row[10] == "0"), row
    bad = subprocess.run(["/usr/bin/python3", "-B", sys.argv[1], sys.argv[2], "page.md", "--sizes", "0x1"],
                         capture_output=True, text=True, check=False)
    assert bad.returncode == 1 and "is not KxN" in bad.stderr, bad
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
