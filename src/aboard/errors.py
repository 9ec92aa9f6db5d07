# SPDX-License-Identifier: Apache-2.0
"""The tree of exceptions: each carries an HTTP status, a stable code and, where there is one, the next step.

AboardError
├── InvalidValue       (also a ValueError)           a value that is not allowed
│   └── QueryError                                   a filter that cannot be read; points at the place
├── InvalidType        (also a TypeError)            an object of the wrong kind
├── UnknownName        (also a KeyError)             a name that nothing has
├── MissingPackage     (also an ImportError)         an optional package that this call needs
├── Conflict                                         what is there stands against what is asked
│   └── BoardLimitExceeded                           a person has as many boards as are allowed
├── CatalogUnavailable                               the catalog's database cannot be opened, read or written
├── DamagedDocument    (also a ValueError)           a document in a store cannot be understood
│   └── NewerFormat                                  a later aboard wrote it
├── RunClaimed                                       another process is working on the run
├── Unauthorized                                     a token is missing, or opens nothing
├── Forbidden          (also a PermissionError)      one may not do this here
├── ServerUnavailable  (also a ConnectionError)      the server cannot be reached or started
├── UnitRefused                                      an executor will not start this unit
├── ExecutorUnavailable (also a ConnectionError)     a machine, daemon or scheduler cannot be reached, or failed
│   └── ExecutorNotConfigured                        no login or address for it, or not accepted: nothing was submitted
├── StorageUnavailable (also an OSError)             a folder or file that cannot be created, read or written
└── StoreError         (also an OSError)             a store refused or failed; `temporary` says whether to try again
    ├── NoSuchStore                                  the folder, bucket or container does not exist
    ├── KeyNotFound    (also a FileNotFoundError)    there is nothing under this key
    ├── KeyExists      (also a FileExistsError)      a create-only put found something under this key
    ├── PositionMismatch                             an append at another place than the end
    ├── StoreReadOnly  (also a PermissionError)      a write through a store that was opened for reading
    ├── AccessDenied   (also a PermissionError)      the credentials are good, but do not allow this
    ├── CredentialsMissing                           no credentials were found
    ├── CredentialsRefused                           the credentials are not accepted
    │   └── CredentialsExpired                       they were good once
    ├── StoreFull                                    no space or quota is left (temporary)
    ├── WrongRegion                                  the bucket is in another region
    └── StoreUnreachable (also a ConnectionError)    no network, no answer in time, or the server failed (temporary)
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


class QueryError(InvalidValue):
    """A filter that cannot be read. `start` and `end` are the place in `text`, counted from 0."""

    code: ClassVar[str] = "QueryError"

    def __init__(self, problem: str, text: str, start: int, end: int, *, hint: str = "") -> None:
        shown = "".join(character if character.isprintable() else " " for character in text)
        # A long filter is cut to what stands around the place.
        left = max(0, start - 60)
        width = max(1, min(end, left + 100) - start)
        part = f"{'…' if left else ''}{shown[left : left + 100]}{'…' if left + 100 < len(shown) else ''}"
        caret = " " * (start - left + bool(left)) + "^" * width
        super().__init__(f"{problem} (column {start + 1})\n  {part}\n  {caret}", hint=hint)
        self.problem = problem
        self.text = text
        self.start = start
        self.end = end


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


class Conflict(AboardError):
    """What is there stands against what is asked: an illegal change, a name that is taken, a lock that is held."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "Conflict"


class BoardLimitExceeded(Conflict):
    """A person has as many boards as are allowed; the hint names those that could be stopped."""

    status: ClassVar[int] = 429
    code: ClassVar[str] = "TensorboardLimitExceeded"


class CatalogUnavailable(AboardError):
    """The catalog's database cannot be opened, read or written."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "CatalogUnavailable"


class Unauthorized(AboardError):
    """A token is missing, or opens nothing."""

    status: ClassVar[int] = 401
    code: ClassVar[str] = "Unauthorized"


class Forbidden(AboardError, PermissionError):
    """One may not do this here."""

    status: ClassVar[int] = 403
    code: ClassVar[str] = "Forbidden"


class ServerUnavailable(AboardError, ConnectionError):
    """The server cannot be reached, started, or understood."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "ServerUnavailable"


class UnitRefused(AboardError):
    """An executor will not start this unit: there is no such partition, image or namespace, no permission, no quota."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "UnitRefused"


class ExecutorUnavailable(AboardError, ConnectionError):
    """A machine, daemon or scheduler cannot be reached, or failed: the same call may succeed later."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "ExecutorUnavailable"


class ExecutorNotConfigured(ExecutorUnavailable):
    """There is no login or address for the executor, or it is not accepted: nothing can have been submitted."""

    code: ClassVar[str] = "ExecutorNotConfigured"


class StorageUnavailable(AboardError, OSError):
    """A folder or file that cannot be created, read or written."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "StorageUnavailable"


class DamagedDocument(AboardError, ValueError):
    """A document in a store cannot be understood."""

    status: ClassVar[int] = 502
    code: ClassVar[str] = "DamagedDocument"


class NewerFormat(DamagedDocument):
    """A document that a later version of aboard wrote, in a way that this one does not know."""

    code: ClassVar[str] = "NewerFormat"


class RunClaimed(AboardError):
    """Another process is working on the run."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "RunClaimed"


class StoreError(AboardError, OSError):
    """A store refused or failed."""

    status: ClassVar[int] = 502
    code: ClassVar[str] = "StoreError"
    temporary: ClassVar[bool] = False
    """Whether the same call may succeed later without anybody changing anything."""


class NoSuchStore(StoreError):
    """The folder, bucket or container does not exist."""

    status: ClassVar[int] = 404
    code: ClassVar[str] = "NoSuchStore"


class KeyNotFound(StoreError, FileNotFoundError):
    """There is nothing under this key."""

    status: ClassVar[int] = 404
    code: ClassVar[str] = "KeyNotFound"


class KeyExists(StoreError, FileExistsError):
    """A create-only put found something under this key."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "KeyExists"


class PositionMismatch(StoreError):
    """An append at another place than the end."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "PositionMismatch"

    def __init__(self, message: str, *, size: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.size = size


class StoreReadOnly(StoreError, PermissionError):
    """A write through a store that was opened for reading."""

    status: ClassVar[int] = 403
    code: ClassVar[str] = "StoreReadOnly"


class AccessDenied(StoreError, PermissionError):
    """The credentials are good, but do not allow this."""

    status: ClassVar[int] = 403
    code: ClassVar[str] = "AccessDenied"


class CredentialsMissing(StoreError):
    """No credentials were found."""

    status: ClassVar[int] = 401
    code: ClassVar[str] = "CredentialsMissing"


class CredentialsRefused(StoreError):
    """The credentials are not accepted."""

    status: ClassVar[int] = 401
    code: ClassVar[str] = "CredentialsRefused"


class CredentialsExpired(CredentialsRefused):
    """The credentials were good once."""

    code: ClassVar[str] = "CredentialsExpired"


class StoreFull(StoreError):
    """No space or quota is left: the same call may succeed when somebody has made room."""

    status: ClassVar[int] = 507
    code: ClassVar[str] = "StoreFull"
    temporary: ClassVar[bool] = True


class WrongRegion(StoreError):
    """The bucket is in another region."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "WrongRegion"


class StoreUnreachable(StoreError, ConnectionError):
    """No network, no answer in time, or the server failed: the same call may succeed later."""

    status: ClassVar[int] = 503
    code: ClassVar[str] = "StoreUnreachable"
    temporary: ClassVar[bool] = True


class WriteWarning(RuntimeWarning):
    """Logged points are delayed or lost. A warning and not an exception, because training should go on."""
