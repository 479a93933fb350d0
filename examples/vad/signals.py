"""Sounds like speech, in phrases of syllables, and noises that are none."""

import numpy as np

RATE, FRAME = 8_000, 256


def clip(random, seconds):
    """A sound from -1 to 1, and for each frame whether somebody speaks."""
    frames = seconds * RATE // FRAME
    voice, speaks = np.zeros(frames * FRAME), np.zeros(frames * FRAME)
    at = int(random.uniform(0, 1.5) * RATE)
    while at < len(voice):
        sound = phrase(random)[: len(voice) - at]
        voice[at : at + len(sound)] = sound
        speaks[at : at + len(sound)] = 1
        at += len(sound) + int(random.uniform(0.35, 2) * RATE)
    noise = sum(noises(random, len(voice)) for _ in range(random.integers(1, 3)))
    noise = noise / (noise.std() + 1e-9) * 10 ** (-random.uniform(4, 25) / 20) * 0.15
    sound = (voice * 0.15 / (voice[speaks > 0].std() if speaks.any() else 1) + noise) * random.uniform(0.3, 1.4)
    return np.clip(sound, -1, 1).astype(np.float32), speaks.reshape(-1, FRAME).mean(1) > 0.5


def phrase(random):
    """Two to eight syllables of one voice; some begin with a consonant of noise."""
    pitch, parts = random.uniform(80, 260), []
    for _ in range(random.integers(2, 9)):
        if random.random() < 0.4:
            hiss = np.diff(random.normal(0, 1, int(random.uniform(0.04, 0.12) * RATE)))
            parts.append(hiss * np.hanning(len(hiss)) * random.uniform(0.1, 0.5))
        parts.append(syllable(random, pitch * random.uniform(0.85, 1.2)))
        parts.append(np.zeros(int(random.uniform(0.0, 0.07) * RATE)))
    return np.concatenate(parts)


def syllable(random, pitch):
    """Harmonics below three resonances that glide, as from one vowel to another."""
    length = int(random.uniform(0.08, 0.28) * RATE)
    along = np.linspace(0, 1, length)[:, None]
    pitches = pitch * (1 + random.uniform(-0.15, 0.15) * along[:, 0] + 0.01 * random.normal())
    number = np.arange(1, int(0.9 * RATE / 2 / pitch))
    phase = 2 * np.pi * np.cumsum(pitches)[:, None] / RATE * number + random.uniform(0, 6, len(number))
    envelope = 0.02
    for low, high, width in ((250, 850, 90), (850, 2300, 130), (2300, 3300, 200)):
        resonance = random.uniform(low, high) + random.uniform(-200, 200) * along
        envelope = envelope + 1 / (1 + ((number * pitch - resonance) / width) ** 2)
    sound = (np.sin(phase) * envelope / number**0.5).sum(1)
    attack = np.minimum(1, np.minimum(np.arange(length), np.arange(length)[::-1]) / (0.02 * RATE))
    return sound * attack * random.uniform(0.5, 1)


def noises(random, length):
    """Rain, wind, hum, engines, beeps, sweeps and clicks."""
    time = np.arange(length) / RATE
    kind = random.integers(6)
    if kind == 0:  # rain to wind: the higher the power, the darker
        spectrum = np.fft.rfft(random.normal(0, 1, length))
        return np.fft.irfft(spectrum / np.maximum(1, np.arange(len(spectrum))) ** random.uniform(0, 1), length)
    if kind == 1:  # hum and engines
        base = random.uniform(30, 140) * (1 + 0.05 * np.sin(2 * np.pi * random.uniform(0.05, 0.4) * time))
        phase = 2 * np.pi * np.cumsum(base) / RATE
        return sum(random.uniform(0, 1) / number * np.sin(number * phase) for number in range(1, 20))
    if kind == 2:  # beeps
        pattern = np.sin(2 * np.pi * random.uniform(0.5, 4) * time) > random.uniform(-0.5, 0.8)
        return pattern * np.sin(2 * np.pi * random.uniform(300, 3000) * time)
    if kind == 3:  # a sweep up and down
        sweep = 1500 + 1200 * np.sin(2 * np.pi * random.uniform(0.1, 1.5) * time)
        return np.sin(2 * np.pi * np.cumsum(sweep) / RATE)
    if kind == 4:  # clicks
        clicks = (random.random(length) < random.uniform(2, 30) / RATE) * random.normal(0, 1, length)
        return np.convolve(clicks, np.exp(-np.arange(200) / random.uniform(5, 60)), "same")
    return random.normal(0, 1, length) * (0.2 + np.sin(2 * np.pi * random.uniform(0.1, 0.6) * time) ** 2)
