# SPDX-License-Identifier: Apache-2.0
"""The tree of exceptions: each carries an HTTP status, a stable code and, where there is one, the next step.

AboardError
├── InvalidValue       (also a ValueError)           a value that is not allowed
├── InvalidType        (also a TypeError)            an object of the wrong kind
├── UnknownName        (also a KeyError)             a name that nothing has
├── MissingPackage     (also an ImportError)         an optional package that this call needs
└── StorageUnavailable (also an OSError)             a folder or file that cannot be created, read or written
WriteWarning           (a RuntimeWarning)            points are delayed or lost; training goes on
"""

from __future__ import annotations

from typing import ClassVar


class AboardError(Exception):
    """Base of everything aboard raises for a reason that a person can act on."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "Internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class InvalidValue(AboardError, ValueError):
    """A value that is not allowed here."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "InvalidValue"


class InvalidType(AboardError, TypeError):
    """An object of a kind that cannot be used here."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "InvalidType"


class UnknownName(AboardError, KeyError):
    """A name that nothing here has."""

    status: ClassVar[int] = 404
    code: ClassVar[str] = "UnknownName"


class MissingPackage(AboardError, ImportError):
    """An optional package that this call needs is not installed."""

    status: ClassVar[int] = 501
    code: ClassVar[str] = "MissingPackage"


class StorageUnavailable(AboardError, OSError):
    """A folder or file that cannot be created, read or written."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "StorageUnavailable"


class WriteWarning(RuntimeWarning):
    """Logged points are delayed or lost. A warning and not an exception, because training should go on."""
