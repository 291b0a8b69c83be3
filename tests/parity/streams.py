# SPDX-License-Identifier: LGPL-2.1-or-later
"""The random streams of lib/rng.c in Python, for tests that give plain Python the seeds that the bridge gave."""


def first(seed, purpose, ordinal, step):
    """The first word of a stream of slot 0: Philox4x32-10."""
    c = [0, purpose << 24 | step, (ordinal & 255) << 24, ordinal >> 8]
    k = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xffffffff, p >> 32 ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c[0]
