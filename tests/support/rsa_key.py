# SPDX-License-Identifier: Apache-2.0
"""A throw-away RSA key as in Google's service account files, made anew so that none is kept in the repository."""

from __future__ import annotations

import base64
import math
import random

E = 65537
SMALL = math.prod(number for number in range(3, 3000, 2) if all(number % factor for factor in range(3, number, 2)))


def make_private_key(bits: int = 2048) -> str:
    """PEM text of a new key; for tests only, its randomness is not good enough for anything else."""
    numbers = random.Random()
    p, q = (_prime(bits // 2, numbers) for _ in range(2))
    d = pow(E, -1, math.lcm(p - 1, q - 1))
    parts = [0, p * q, E, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)]
    key = _der(0x30, b"".join(map(_integer, parts)))
    algorithm = _der(0x30, _der(0x06, bytes.fromhex("2a864886f70d010101")) + _der(0x05, b""))
    document = _der(0x30, _integer(0) + algorithm + _der(0x04, key))
    text = base64.encodebytes(document).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{text}-----END PRIVATE KEY-----\n"


def _prime(bits: int, numbers: random.Random) -> int:
    while True:
        candidate = numbers.getrandbits(bits) | (0b11 << (bits - 2)) | 1
        if math.gcd(candidate, SMALL) > 1 or math.gcd(candidate - 1, E) > 1:
            continue
        if all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7)):
            return candidate


def _integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content
