#!/usr/bin/env python3
"""Writes the pictures of docs/guide/quantize_your_network.md: drawings of the report of `qsim quantize` as files of their own.

usage: quantization.py QSIM TRAIN    TRAIN: the folder of training pictures that models/README.md names
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/pictures"
MODEL = ROOT / "models/vgg8-cifar10/vgg8-float.onnx"
# The title of the drawing in the report, the file, its width in pixels.
PICTURES = (("Signal to quantization noise of each layer", "quantize_sqnr.svg", 660),
            ("conv2: ofmap", "quantize_conv2.svg", 460))
# The page's classes have the colours of its theme; a picture alone has none.
STYLE = ("<style>.bar { fill: #3b6ea5; } .covered { fill: #e6edf5; } .end { fill: #c0392b; } "
         "text { fill: #444; font: 12px sans-serif; }</style>")


def report(qsim, train):
    """The HTML page of VGG-8, quantized as models/README.md says."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        subprocess.run([qsim, "quantize", MODEL, "--calibrate", train, "--scale-kind", "power_of_two", "--quiet",
                        "-o", pathlib.Path(folder) / "int8.onnx", "--report", page],
                       check=True, stdout=subprocess.DEVNULL)
        return page.read_text()


def picture(page, title, width):
    """The drawing with that title, with a size, colours and a white ground."""
    found = re.search(r'<svg [^>]*viewBox="([^"]*)"><title>' + re.escape(title) + "</title>(.*?)</svg>", page, re.DOTALL)
    x, y, w, h = map(float, found[1].split())
    ground = f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="white"/>'
    body = found[2].replace("/>", "/>\n").replace("</text>", "</text>\n")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{found[1]}" width="{width}" height="{width * h / w:.0f}">'
            f"<title>{title}</title>\n{STYLE}\n{ground}\n{body}</svg>\n")


def main():
    page = report(*sys.argv[1:])
    for title, file, width in PICTURES:
        (FOLDER / file).write_text(picture(page, title, width))
        print(f"wrote {FOLDER / file}")


if __name__ == "__main__":
    main()
