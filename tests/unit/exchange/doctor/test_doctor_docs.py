# SPDX-License-Identifier: Apache-2.0
"""docs/doctor.md says of every code what the program says."""

import re
from pathlib import Path

from aboard.exchange.doctor.findings import KINDS

DOCS = (Path(__file__).parents[4] / "docs/doctor.md").read_text("utf-8")


def test_every_code_is_documented_as_it_is():
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning|information) \| (.+?) \| (.+?)\. \|$", DOCS, re.MULTILINE)
    documented = {code: (severity, meaning, advice) for code, severity, meaning, advice in rows}
    assert documented == {
        code: (kind.severity, kind.meaning, kind.advice[0].upper() + kind.advice[1:]) for code, kind in KINDS.items()
    }
