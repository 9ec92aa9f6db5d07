# SPDX-License-Identifier: Apache-2.0
"""Apply the bugs of `tests/mutations`, one at a time, and report which test catches each.

Everything happens in a copy of the working tree below `build/mutations`. Python mutations share the extension that
is built already; native ones are compiled incrementally. Before the first mutation the named tests run without any:
a test that fails anyway catches nothing.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutated_tree import PatchRejected, Tree
from suite import BrokenTests, Suite

ROOT = Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests" / "mutations"
WORK = ROOT / "build" / "mutations"
_HEADER = re.compile(r"^(User|Level|Tests): (.+)$", re.M)
_CHANGED = re.compile(r"^\+\+\+ b/(.+)$", re.M)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One bug: a patch with a header that says what a user notices, and which tests should catch it."""

    name: str
    patch: Path
    files: tuple[str, ...]
    tests: tuple[str, ...]

    @classmethod
    def read(cls, patch: Path) -> Mutation:
        text = patch.read_text("utf-8")
        header = dict(_HEADER.findall(text.partition("\ndiff ")[0]))
        if header.keys() != {"User", "Level", "Tests"}:
            raise SystemExit(f"{patch.relative_to(ROOT)} needs one line each of User:, Level: and Tests:.")
        return cls(patch.stem, patch, tuple(_CHANGED.findall(text)), tuple(header["Tests"].split()))

    @property
    def levels(self) -> tuple[str, ...]:
        """Where to look when no named test fails, the quickest first."""
        above = ("tests/unit", "tests/contract", "tests/integration", "tests/e2e")
        if any(file.startswith("web/") for file in self.files):
            return ("web/src", "tests/e2e")
        return ("native/tests", *above) if any(file.startswith("native/") for file in self.files) else above


def main() -> int:
    """Run the sample; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/test-mutations", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to try (default: all of tests/mutations)")
    parser.add_argument("--only-named", action="store_true", help="run the tests that a patch names, and no others")
    options = parser.parse_args()
    mutations = _chosen(options.names)
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit("Another process tests mutations in this clone.") from None
        tree = Tree(ROOT, WORK)
        tree.update()
        return _tried(tree, Suite(tree), mutations, only_named=options.only_named)


def _chosen(names: Sequence[str]) -> list[Mutation]:
    patches = {patch.stem: patch for patch in sorted(PATCHES.glob("*.patch"))}
    if unknown := [name for name in names if name not in patches]:
        raise SystemExit(f"There is no mutation {unknown[0]!r}. There are: {', '.join(patches)}.")
    return [Mutation.read(patches[name]) for name in names or patches]


def _tried(tree: Tree, suite: Suite, mutations: Sequence[Mutation], *, only_named: bool) -> int:
    started = time.monotonic()
    for path in sorted({path for one in mutations for path in one.tests if not tree.has(path)}):
        print(
            f"{path} no longer exists. Its mutations fall back to whole levels; update their Tests: lines.", flush=True
        )
    broken = suite.all_failures(sorted({path for one in mutations for path in one.tests if tree.has(path)}))
    for test in broken:
        print(f"{test} fails without any mutation.")
    if broken:
        return 1
    print(f"The named tests pass without a mutation ({time.monotonic() - started:.0f} s).", flush=True)
    caught = 0
    for mutation in mutations:
        begun = time.monotonic()
        found = _catching_test(tree, suite, mutation, only_named=only_named)
        caught += found.is_catch
        took = time.monotonic() - begun
        print(f"{mutation.name}: {found.text} ({took:.0f} s)", flush=True)
    print(f"{caught} of {len(mutations)} caught")
    return 0 if caught == len(mutations) else 1


@dataclass(frozen=True, slots=True)
class _Outcome:
    is_catch: bool
    text: str


def _catching_test(tree: Tree, suite: Suite, mutation: Mutation, *, only_named: bool) -> _Outcome:
    named = [path for path in mutation.tests if tree.has(path)]
    try:
        with tree.mutated(mutation.patch, mutation.files):
            found = suite.first_failure(named, mutation.files)
            for level in () if found or only_named else mutation.levels:
                found = suite.first_failure([level], mutation.files)
                if found:
                    break
    except PatchRejected as error:
        return _Outcome(False, f"the patch does not apply: {error}")
    except BrokenTests as error:
        return _Outcome(False, f"the tests cannot run with it: {error}")
    if found is None:
        return _Outcome(False, "NOT CAUGHT")
    if not any(found.startswith(path) for path in named) and suite.first_failure([found], mutation.files):
        return _Outcome(False, f"NOT CAUGHT: {found} fails without the mutation, too")
    return _Outcome(True, f"caught by {found}")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
