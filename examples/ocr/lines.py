"""Lines of text as a camera or a scanner brings them, cut out and scaled, and whole receipts."""

import string
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HEIGHT, WIDTH = 32, 320
SIGNS = " .,:;-/%#&+*()$€!?'@"
CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase + SIGNS
"""The first output of the network is the blank; these are the others."""

FOLDER = Path("/usr/share/fonts/truetype/dejavu")
FONTS = ["Sans", "Sans-Bold", "Sans-Oblique", "SansCondensed", "SansCondensed-Bold", "SansMono", "SansMono-Bold"]
FONTS += ["Serif", "Serif-Bold", "Serif-Italic", "SerifCondensed"]


def line(random):
    """A text and its picture, `[HEIGHT, width]`, from 0 for paper to 1 for ink."""
    while True:
        text = sentence(random)
        picture = render(text, random)
        if picture.shape[1] <= WIDTH:
            return text, picture


def sentence(random):
    pieces = [piece(random) for _ in range(random.integers(1, 5))]
    text = " ".join(pieces)[: random.integers(4, 24)].strip()
    return text if any(letter.isalnum() for letter in text) else sentence(random)


def piece(random):
    """A word, a number, a date, or letters in any order."""
    digits = lambda count: "".join(random.choice(list(string.digits), count))  # noqa: E731
    kind = random.integers(9)
    if kind < 4:
        return word(random)
    if kind == 4:
        return random.choice(["", "", "$", "€", "-", "+"]) + digits(random.integers(1, 4)) + random.choice([".", ","]) + digits(2)
    if kind == 5:
        return random.choice(["-", "/", ":", "."]).join([digits(random.choice([2, 4])), digits(2), digits(2)][: random.integers(2, 4)])
    if kind == 6:
        return random.choice(["#", "*", "@", "(", "&", "", ""]) + digits(random.integers(1, 7)) + random.choice(["%", ")", "!", "?", ":", ";", "", ""])
    letters = list(CHARACTERS.replace(" ", ""))
    return "".join(random.choice(letters, random.integers(2, 9)))


def word(random):
    vowels, others = list("aeiou"), list("bcdfghjklmnpqrstvwxyz")
    letters = [random.choice(vowels if (at + shift) % 2 else others) for shift in [random.integers(2)] for at in range(random.integers(2, 9))]
    if random.random() < 0.3:
        at = random.integers(len(letters))
        letters.insert(at, letters[at])
    text = "".join(letters)
    case = random.integers(4)
    text = text.upper() if case == 0 else text.capitalize() if case == 1 else text
    return text + random.choice(["", "", "", "", ".", ",", ":", "!", "?", "'s"])


def render(text, random):
    """A line of a random font and of narrow or wide spaces, slanted, blurred, cut out as `src/page.rs` does it."""
    size = int(random.integers(28, 44))
    font = ImageFont.truetype(FOLDER / f"DejaVu{random.choice(FONTS)}.ttf", size)
    spaces = int(random.choice([1, 1, 1, 1, 2, 5]))
    text = text.replace(" ", " " * spaces)
    left, top, right, bottom = font.getbbox(text)
    edge = size
    mask = Image.new("L", (right + 2 * edge, bottom + 2 * edge))
    ImageDraw.Draw(mask).text((edge, edge), text, 255, font)
    slant, angle = random.uniform(-0.12, 0.12), random.uniform(-0.7, 0.7)
    mask = mask.transform(mask.size, Image.Transform.AFFINE, (1, slant, -slant * mask.height / 2, 0, 1, 0), Image.Resampling.BILINEAR)
    mask = mask.rotate(angle, Image.Resampling.BILINEAR)
    left, top, right, bottom = mask.point(lambda value: 255 * (value > 100)).getbbox()
    pad = (bottom - top) * random.uniform(0.08, 0.2, 4) * [3, 1, 3, 1]
    mask = mask.crop((int(left - pad[0]), int(top - pad[1]), int(right + pad[2]), int(bottom + pad[3])))
    # As few pixels as a picture of a whole page has for a line.
    height = int(random.integers(15, 41))
    width = mask.width * height / mask.height * random.uniform(0.9, 1.1)
    mask = mask.resize((round(width), height), Image.Resampling.BOX)
    mask = mask.filter(ImageFilter.GaussianBlur(random.uniform(0, 0.05) * height / 2))
    gray = photograph(np.asarray(mask, np.float32) / 255, random)
    scaled = Image.fromarray(gray).resize((round(width * HEIGHT / height), HEIGHT), Image.Resampling.BILINEAR)
    return normalized(np.asarray(scaled, np.float32))


def photograph(ink, random):
    """Dark ink on light paper with a shadow and grain, as bytes."""
    height, width = ink.shape
    paper, dark = random.uniform(150, 255), random.uniform(0, 90)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    shadow = 1 - random.uniform(0, 0.15) * np.abs(x * random.uniform(-1, 1) + y * random.uniform(-1, 1))
    gray = (paper + (dark - paper) * ink) * shadow + random.normal(0, random.uniform(0, 12), ink.shape)
    return np.clip(gray, 0, 255).astype(np.uint8)


def normalized(gray):
    """0 for the median, which is paper, and 1 for the darkest fiftieth. `src/page.rs` does the same."""
    paper, dark = np.percentile(gray, [50, 2])
    return np.clip((paper - gray) / max(paper - dark, 1), 0, 1)


def page(lines, random, font="SansMono", size=22, blur=0.6):
    """A receipt: some lines below each other on crumpled paper."""
    font = ImageFont.truetype(FOLDER / f"DejaVu{font}.ttf", size)
    width = max(round(font.getlength(text)) for text in lines) + 4 * size
    mask = Image.new("L", (width, round((len(lines) + 1.5) * 1.5 * size)))
    for row, text in enumerate(lines):
        ImageDraw.Draw(mask).text((2 * size, size + row * 1.5 * size), text, 255, font)
    mask = mask.rotate(random.uniform(-0.25, 0.25), Image.Resampling.BILINEAR).filter(ImageFilter.GaussianBlur(blur))
    return photograph(np.asarray(mask, np.float32) / 255, random)
