# SPDX-License-Identifier: Apache-2.0
"""Random secrets and the digests under which they are kept.

A secret has 256 random bits, so that a plain digest of it can be neither undone nor guessed.
"""

from __future__ import annotations

import hashlib
import secrets


def new_secret() -> str:
    """A secret that nobody has guessed or will."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret. Looking it up by its digest tells an attacker's clock nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
