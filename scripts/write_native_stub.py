# SPDX-License-Identifier: Apache-2.0
"""Writes the type stub of the C++ extension from the built one; with `--check` only says whether it is up to date."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

_FILE = Path(__file__).parent.parent / "src" / "aboard" / "_native" / "_core.pyi"
_CORE = importlib.import_module("aboard._native._core")
_HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Written by `make stub` from native/bind.\n"


def _stub() -> str:
    generator = StubGen(_CORE)
    generator.put(_CORE)
    # Values of constants differ between machines.
    return _formatted(_HEAD + re.sub(r"^(\w+: \w+) = .*$", r"\1", generator.get(), flags=re.MULTILINE))


def _formatted(source: str) -> str:
    ruff = [str(Path(sys.executable).parent / "ruff")]
    name = f"--stdin-filename={_FILE}"
    for command in (["check", "--quiet", "--fix", "--exit-zero", "--select=I,UP,D2"], ["format", "--quiet"]):
        source = subprocess.run(
            [*ruff, *command, name, "-"], input=source, text=True, capture_output=True, check=True
        ).stdout
    return source


def main() -> int:
    made = _stub()
    if sys.argv[1:] != ["--check"]:
        _FILE.write_text(made, "utf-8")
        return 0
    if _FILE.exists() and _FILE.read_text("utf-8") == made:
        return 0
    print(f"{_FILE.name} differs from what native/bind says; run make stub", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
