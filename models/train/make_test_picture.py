"""Crops a square out of a picture and scales it to 32x32, the size of a CIFAR-10 picture."""

import argparse

from PIL import Image


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="for example chelsea.png of scikit-image, 451x300")
    parser.add_argument("target", help="PNG to write")
    parser.add_argument("--left", type=int, help="left edge of the square in pixels (default: centred)")
    parser.add_argument("--top", type=int, help="top edge of the square in pixels (default: centred)")
    parser.add_argument("--side", type=int, help="side of the square in pixels (default: the shorter side)")
    args = parser.parse_args()
    picture = Image.open(args.source).convert("RGB")
    side = args.side or min(picture.size)
    left = (picture.width - side) // 2 if args.left is None else args.left
    top = (picture.height - side) // 2 if args.top is None else args.top
    if left < 0 or top < 0 or left + side > picture.width or top + side > picture.height:
        parser.error(f"a square of {side} at ({left}, {top}) leaves the {picture.width}x{picture.height} picture")
    square = picture.crop((left, top, left + side, top + side))
    small = square.resize((32, 32), Image.LANCZOS)
    small.info.clear()  # no color profile or text: pixels only
    small.save(args.target, optimize=True)


if __name__ == "__main__":
    main()
