# SPDX-License-Identifier: Apache-2.0
"""Tables of cases within one test: `pytest.mark.parametrize` costs milliseconds and a line of output for each case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]


def all_cases(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with every case, as `pytest.mark.parametrize` would, and report all cases that fail.

    The cases share the test's fixtures. Two of these decorators give all combinations.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    table = [dict(zip(wanted, [case] if isinstance(names, str) else case, strict=True)) for case in cases]
    assert table, "a test without cases cannot fail"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def call_with_all(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for case in table:
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case: {', '.join(f'{name}={value!r}' for name, value in case.items())}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} cases failed", failures)

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        call_with_all.__signature__ = signature.replace(parameters=fixtures)  # pyright: ignore[reportAttributeAccessIssue]
        return call_with_all

    return decorate
