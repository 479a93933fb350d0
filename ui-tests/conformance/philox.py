"""The generator of random numbers, written a second time for cases with a seed."""

import numpy as np


def philox(seed, count):
    """Philox-4x32-10 by Salmon and others: `count` numbers of 64 bits."""
    mask = (1 << 32) - 1
    words = []
    for at in range((count + 1) // 2):
        counter, key = [at, 0, 0, 0], [seed & mask, seed >> 32]
        for _ in range(10):
            first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [second >> 32 ^ counter[1] ^ key[0], second & mask,
                       first >> 32 ^ counter[3] ^ key[1], first & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        words += [counter[1] << 32 | counter[0], counter[3] << 32 | counter[2]]
    return words[:count]


def fractions(seed, shape, digits):
    words = philox(seed, int(np.prod(shape)))
    return np.array([(word >> 64 - digits) / (1 << digits) for word in words]).reshape(shape)
