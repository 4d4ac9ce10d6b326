#!/usr/bin/env python3
"""Check chart colours for contrast and colour vision deficiency, or draw them.

check  measures each colour against the background (WCAG contrast ratio) and each
       pair of colours under normal, protan, deutan and tritan vision (OKLab
       distance; simulation after Machado et al. 2009, full severity).
sheet  writes a PNG with the colours as those viewers and a grey printer see them.
"""

import argparse
import itertools
import json
import math
import re
import struct
import sys
import zlib
from pathlib import Path

DEFAULT = Path(__file__).resolve().parent.parent / "assets" / "palette.json"
IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
VISION = {
    "normal": IDENTITY,
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
               (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
               (0.004733, 0.691367, 0.303900)),
}
GREY = ((0.2126, 0.7152, 0.0722),) * 3
FONT = {  # 3 by 5 dots, one digit per row, most significant bit on the left
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717",
    "6": "74757", "7": "71222", "8": "75757", "9": "75717", "A": "25755", "B": "65656",
    "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "I": "72227",
    "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644", "R": "65655",
    "T": "72222", "U": "55557", "Y": "55222", "#": "57575", " ": "00000",
}


def parse_colour(text):
    match = re.fullmatch(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a colour such as '#1b9e77' (quote the #)")
    digits = match.group(1)
    if len(digits) == 3:
        digits = "".join(c * 2 for c in digits)
    return "#" + digits.lower()


def linear(colour):
    """Return the linear-light RGB of '#rrggbb', each from 0 to 1."""
    def decode(c):
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    return tuple(decode(int(colour[i:i + 2], 16) / 255) for i in (1, 3, 5))


def to_bytes(light):
    def encode(c):
        return 12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055
    return bytes(round(255 * encode(c)) for c in light)


def apply(matrix, light):
    return tuple(min(1.0, max(0.0, sum(m * c for m, c in zip(row, light)))) for row in matrix)


def contrast(one, other):
    a, b = (sum(m * c for m, c in zip(GREY[0], linear(x))) + 0.05 for x in (one, other))
    return max(a, b) / min(a, b)


def oklab(light):
    r, g, b = light
    l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def distances(one, other):
    """Return the OKLab distance of two colours for each kind of vision."""
    return {
        name: math.dist(oklab(apply(matrix, linear(one))), oklab(apply(matrix, linear(other))))
        for name, matrix in VISION.items()
    }


def check(args):
    bad = 0
    print(f"Contrast with {args.background} (at least {args.min_contrast:g})")
    for colour in args.colours:
        ratio = contrast(colour, args.background)
        failed = ratio < args.min_contrast
        bad += failed
        print(f"  {colour}  {ratio:5.2f}  {'TOO LOW' if failed else 'ok'}")
    print(f"\nDistance of pairs, worst kind of vision (at least {args.min_distance:g})")
    for one, other in itertools.combinations(args.colours, 2):
        found = distances(one, other)
        worst = min(found, key=found.get)
        failed = found[worst] < args.min_distance
        bad += failed
        print(f"  {one} {other}  {found[worst]:.3f}  {worst}  {'TOO CLOSE' if failed else 'ok'}")
    print(f"\n{bad} problem{'' if bad == 1 else 's'}")
    return 1 if bad else 0


def draw_text(pixels, x, y, text, ink, scale=2):
    for char in text.upper():
        for row, bits in enumerate(FONT.get(char, FONT[" "])):
            for column in range(3):
                if int(bits) >> (2 - column) & 1:
                    for dy in range(scale):
                        start = 3 * (x + column * scale)
                        pixels[y + row * scale + dy][start:start + 3 * scale] = ink * scale
        x += 4 * scale


def png(pixels):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    header = struct.pack(">IIBBBBB", len(pixels[0]) // 3, len(pixels), 8, 2, 0, 0, 0)
    raw = b"".join(b"\0" + bytes(row) for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def sheet(args):
    left, top, cell, gap = 72, 28, 72, 8
    rows = {**VISION, "grey": GREY}
    width = left + len(args.colours) * (cell + gap) + gap
    height = top + len(rows) * (cell // 2 + gap) + gap
    ground = to_bytes(linear(args.background))
    ink = b"\0\0\0" if contrast(args.background, "#000000") > 4.5 else b"\xff\xff\xff"
    pixels = [bytearray(ground * width) for _ in range(height)]
    for index, colour in enumerate(args.colours):
        x = left + gap + index * (cell + gap)
        draw_text(pixels, x + 8, 10, colour, ink)
        for number, matrix in enumerate(rows.values()):
            y = top + gap + number * (cell // 2 + gap)
            seen = to_bytes(apply(matrix, linear(colour)))
            for line in range(y, y + cell // 2):
                pixels[line][3 * x:3 * (x + cell)] = seen * cell
    for number, name in enumerate(rows):
        draw_text(pixels, gap, top + gap + number * (cell // 2 + gap) + 13, name, ink)
    data = png(pixels)
    try:
        args.out.write_bytes(data)
    except OSError as error:
        print(f"palette: cannot write {args.out}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"wrote {args.out}, {width} x {len(pixels)} pixels, {len(data)} bytes")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="exit status: 0 fine, 1 check found problems, 2 wrong usage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("colours", nargs="*", type=parse_colour, metavar="COLOUR",
                        help="colours such as '#302478' (default: those of assets/palette.json)")
    common.add_argument("--background", type=parse_colour, default="#ffffff", metavar="COLOUR")
    one = commands.add_parser("check", parents=[common], help="measure contrast and distances")
    one.add_argument("--min-contrast", type=float, default=3.0,
                     help="3 for marks and lines, 4.5 for text (default: 3)")
    one.add_argument("--min-distance", type=float, default=0.10,
                     help="smallest OKLab distance of two series (default: 0.10)")
    two = commands.add_parser("sheet", parents=[common], help="draw the colours as a PNG")
    two.add_argument("--out", type=Path, required=True, help="the PNG file to write")
    args = parser.parse_args()
    if not args.colours:
        try:
            entries = json.loads(DEFAULT.read_text(encoding="utf-8"))["categorical"]
            args.colours = [parse_colour(entry["hex"]) for entry in entries]
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"cannot read {DEFAULT}: {error}; give the colours as arguments")
    return check(args) if args.command == "check" else sheet(args)


if __name__ == "__main__":
    sys.exit(main())
