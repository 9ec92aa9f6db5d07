# SPDX-License-Identifier: Apache-2.0
"""How long tests with hypothesis search: the same few examples each time; many new ones with HYPOTHESIS_PROFILE=soak.

Importing this module loads the profile. Tests take it over when they are defined, so a `conftest.py` imports it.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_SOAK_EXAMPLES = 2000
_NAME = os.environ.get("HYPOTHESIS_PROFILE", "everyday")
# A busy machine is no failure: no example has a deadline, and none takes too long to be made.
_PATIENT = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("everyday", _PATIENT, max_examples=50, derandomize=True)
settings.register_profile("soak", _PATIENT, max_examples=_SOAK_EXAMPLES, derandomize=False, print_blob=True)
settings.load_profile(_NAME)


def examples(everyday: int) -> settings:
    """A decorator for tests that need another number of examples than most."""
    return settings(max_examples=_SOAK_EXAMPLES if _NAME == "soak" else everyday)
