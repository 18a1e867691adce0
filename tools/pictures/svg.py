"""Small charts as SVG, a line for each mark. The same numbers give the same bytes."""
import math
from html import escape

# Okabe and Ito's colours, which people with any common colour blindness can tell apart.
BLUE, ORANGE, PURPLE, RED, SKY, GREY, GREEN = (
    "#0072B2", "#E69F00", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#009E73")
# The corners of a marker, in units of its radius.
CORNERS = {"v": ((-1, -0.8), (1, -0.8), (0, 1)), "^": ((-1, 0.8), (1, 0.8), (0, -1)),
           "D": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)), "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))}


def linear(low, high):
    """A scale: from a value to 0 to 1."""
    return lambda value: (value - low) / (high - low)


def logarithmic(low, high):
    return lambda value: math.log(value / low) / math.log(high / low)


class Chart:
    """A box (left, top, right, bottom) in pixels with a scale in each direction."""

    def __init__(self, size, box, x, y):
        self.size, self.box, self.x, self.y = size, box, x, y
        self.parts = []

    def place(self, x, y):
        left, top, right, bottom = self.box
        return left + self.x(x) * (right - left), bottom - self.y(y) * (bottom - top)

    def text(self, at, words, anchor="start", colour="#333", turned=0):
        """`at` in pixels; the letters are in the middle of it."""
        turn = f' transform="rotate({-turned} {at[0]:.1f} {at[1]:.1f})"' if turned else ""
        self.parts.append(f'<text x="{at[0]:.1f}" y="{at[1] + 4:.1f}" text-anchor="{anchor}" fill="{colour}"{turn}>'
                          f"{escape(words)}</text>")

    def note(self, x, y, words, shift=(0, 0), **how):
        at = self.place(x, y)
        self.text((at[0] + shift[0], at[1] + shift[1]), words, **how)

    def line(self, start, end, colour="#ccc", dotted=False):
        """In pixels."""
        dots = ' stroke-dasharray="2 3"' if dotted else ""
        self.parts.append(f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
                          f'stroke="{colour}" stroke-width="1.3"{dots}/>')

    def segment(self, start, end, **how):
        """In values."""
        self.line(self.place(*start), self.place(*end), **how)

    def bar(self, start, end, row, colour):
        """From the value `start` to `end`, 16 pixels high, around `row`."""
        (left, middle), (right, _) = self.place(start, row), self.place(end, row)
        self.parts.append(f'<rect x="{left:.1f}" y="{middle - 8:.1f}" width="{right - left:.1f}" height="16" fill="{colour}"/>')

    def mark(self, at, shape, colour, filled=True, radius=4.5):
        """In pixels."""
        look = f'fill="{colour}"' if filled else f'fill="none" stroke="{colour}" stroke-width="1.4"'
        if shape == "o":
            self.parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}" {look}/>')
        else:
            corners = " ".join(f"{at[0] + radius * x:.1f},{at[1] + radius * y:.1f}" for x, y in CORNERS[shape])
            self.parts.append(f'<polygon points="{corners}" {look}/>')

    def axes(self, x_ticks, y_ticks, x_words, y_words=""):
        """Ticks are pairs of a value and its words."""
        left, top, right, bottom = self.box
        for value, words in x_ticks:
            at = left + self.x(value) * (right - left)
            self.line((at, top), (at, bottom))
            self.text((at, bottom + 14), words, "middle")
        for value, words in y_ticks:
            at = bottom - self.y(value) * (bottom - top)
            if y_words:
                self.line((left, at), (right, at))
            self.text((left - 8, at), words, "end")
        self.text(((left + right) / 2, bottom + 34), x_words, "middle")
        if y_words:
            self.text((14, (top + bottom) / 2), y_words, "middle", turned=90)

    def as_svg(self, about):
        width, height = self.size
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                f'font-family="sans-serif" font-size="12">\n<title>{escape(about)}</title>\n'
                f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(self.parts) + "\n</svg>\n")
