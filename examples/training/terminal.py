"""Runs a program and writes what it prints, with its colors, as a PNG picture.

    pip install pillow                              # and the font DejaVu Sans Mono (Debian: fonts-dejavu-core)
    python terminal.py picture.png "what the prompt shows" command ..
"""

import os
import re
import subprocess
import sys

from PIL import Image, ImageDraw, ImageFont

FOLDER = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono"
SIZE, EDGE = 15, 12
PAPER, INK, DIM = (24, 26, 32), (214, 217, 224), (120, 124, 134)
COLORS = [(60, 62, 70), (232, 96, 96), (120, 200, 110), (222, 190, 90), (96, 150, 232), (196, 120, 210), (90, 190, 200)]
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def main():
    path, prompt, *command = sys.argv[1:]
    environment = {**os.environ, "CLICOLOR_FORCE": "1", "COLORTERM": "truecolor"}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = [f"\x1b[32m$\x1b[0m {prompt}", *printed.rstrip("\n").split("\n")]
    fonts = {bold: ImageFont.truetype(FOLDER + ("-Bold.ttf" if bold else ".ttf"), SIZE) for bold in (False, True)}
    across, down = round(fonts[False].getlength("M")), SIZE + 3
    columns = max(len(ESCAPE.sub("", line)) for line in lines)
    image = Image.new("RGB", (columns * across + 2 * EDGE, len(lines) * down + 2 * EDGE), PAPER)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        column, style = 0, {}
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if match := ESCAPE.fullmatch(part):
                style = restyled(style, match[1])
                continue
            for letter in part:
                corner = EDGE + column * across, EDGE + row * down
                cell(draw, corner, across, down, letter, style, fonts)
                column += 1
    image.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {image.size[0]}x{image.size[1]}, {os.path.getsize(path)} bytes")


def restyled(style, codes):
    codes, style = [int(code or 0) for code in codes.split(";")], dict(style)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code == 1:
            style["bold"] = True
        elif code == 2:
            style["ink"] = DIM
        elif code in (38, 48) and codes[:1] == [2]:
            style["ink" if code == 38 else "paper"], codes = tuple(codes[1:4]), codes[4:]
        elif 30 <= code <= 36:
            style["ink"] = COLORS[code - 30]
    return style


def cell(draw, corner, across, down, letter, style, fonts):
    """Blocks are drawn as rectangles, since those of the font leave seams."""
    (left, top), ink = corner, style.get("ink", INK)
    box = lambda x1, y1, x2, y2: (left + x1, top + y1, left + x2 - 1, top + y2 - 1)  # noqa: E731
    if "paper" in style:
        draw.rectangle(box(0, 0, across, down), style["paper"])
    if letter == "▀":
        draw.rectangle(box(0, 0, across, down // 2), ink)
    elif "▁" <= letter <= "█":
        height = round((ord(letter) - ord("▁") + 1) * down / 8)
        draw.rectangle(box(0, down - height, across, down), ink)
    elif "▉" <= letter <= "▏":
        width = max(1, round((8 - (ord(letter) - ord("█"))) * across / 8))
        draw.rectangle(box(0, 0, width, down), ink)
    elif letter != " ":
        draw.text(corner, letter, ink, fonts[style.get("bold", False)])


if __name__ == "__main__":
    main()
