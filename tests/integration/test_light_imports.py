# SPDX-License-Identifier: Apache-2.0
"""What importing and using parts of `aboard` loads: nothing heavy, and nothing that may be absent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aboard import SummaryWriter

HEAVY = (
    "google.protobuf tensorboard tensorboardX PIL torch sqlalchemy msgspec starlette obstore typer matplotlib "
    "pandas polars pyarrow"
)
MODULES = "audio custom_scalars event graph histogram hparams image mesh pr_curve projector tensor video"
FORBIDDEN = {"google", "tensorboard", "tensorboardX", "torch", "matplotlib", "soundfile"}


def _printed(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "statement", ["import aboard", "from aboard import SummaryWriter", "import aboard; aboard.open"]
)
def test_import_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(*[name for name in {HEAVY.split()!r} if name in sys.modules])"
    assert _printed(code).split() == []


def test_logging_numbers_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, numpy; from aboard import SummaryWriter\n"
        "with SummaryWriter(sys.argv[1]) as w:\n"
        "    w.add_scalar('a', 1, 1); w.add_histogram('b', numpy.ones(9)); w.add_text('c', 'x')\n"
        "    w.add_hparams({'a': 1}, {'b': 2})\n"
        f"print(*[name for name in {HEAVY.split()!r} if name in sys.modules])"
    )
    assert _printed(code, tmp_path).split() == []


def test_importing_every_module_of_events_needs_no_forbidden_package() -> None:
    code = f"""
import importlib, sys
for name in {MODULES!r}.split():
    importlib.import_module(f"aboard.events.{{name}}")
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    assert not FORBIDDEN & set(_printed(code).split())


def test_reading_needs_numpy_alone(tmp_path: Path) -> None:
    """No extra, no protobuf, no pillow, no pandas: what cannot be imported here is not there at all."""
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss", 1.75, 1)
    absent = "tensorboard starlette uvicorn a2wsgi orjson google PIL typer pandas polars pyarrow"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent.split()!r}))\n"
        "import aboard; run = aboard.open(sys.argv[1]).runs['run']\n"
        "print(run.scalars['loss'].values.sum(), run.hparams)\n"
        "for name in ('to_pandas', 'to_polars', 'to_arrow'):\n"
        "    try: getattr(run, name)()\n"
        "    except ImportError as error: print(type(error).__name__, str(error).splitlines()[-1].strip())"
    )
    assert _printed(code, tmp_path).splitlines() == [
        "1.75 {}",
        "MissingPackage hint: pip install pandas",
        "MissingPackage hint: pip install polars",
        "MissingPackage hint: pip install pyarrow",
    ]
