# SPDX-License-Identifier: Apache-2.0
"""Refuses secrets that a person has chosen and that can be guessed.

Generated secrets have 256 random bits, so failed attempts need no limit that could lock out others. A chosen secret
must be hard to guess by itself.
"""

from __future__ import annotations

from aboard.errors import InvalidValue

_SHORTEST = 16
_FEWEST_DIFFERENT = 8


def check_chosen_secret(secret: str, what: str, how: str) -> None:
    """Refuse a secret that is too short or too simple; `what` names it, `how` is a command that makes a good one."""
    if len(secret) < _SHORTEST:
        reason = f"has {_counted(len(secret), 'character')}"
    elif secret.isdecimal():
        reason = "has digits only"
    elif len(set(secret)) < _FEWEST_DIFFERENT:
        reason = f"has {_counted(len(set(secret)), 'different character')}"
    else:
        return
    hint = f"Use at least {_SHORTEST} characters, {_FEWEST_DIFFERENT} of them different, not only digits: {how}"
    raise InvalidValue(f"{what} {reason}, so it can be guessed.", hint=hint)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
