# SPDX-License-Identifier: Apache-2.0
"""Plant the bugs of `tests/mutations`, one at a time, and report which test catches each.

All work happens in a copy of the working tree below `build/mutations`. Python mutations use the extension that is
built already; native ones are compiled incrementally. The named tests run without any mutation first, because a test
that fails anyway catches nothing.
"""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutated_tree import PatchRejected, Tree
from mutation import Mutation, read_mutations
from suite import BrokenTests, Suite

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutations"
REFRESH = """\
To refresh a patch that does not apply: plant the same bug in the changed code, copy the output of `git diff -U1 FILE`
below the fields of the patch, and take the change back with `git checkout FILE`.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutation."""

    word: str
    detail: str

    @property
    def is_caught(self) -> bool:
        return self.word == "caught"


def main() -> int:
    """Run the sample and return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/test-mutations", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="try this mutation (repeatable)")
    parser.add_argument("--whole", action="store_true", help="run the whole suite when no named test fails")
    parser.add_argument("--patches", type=Path, default=ROOT / "tests/mutations", help="folder of the patches")
    options = parser.parse_args()
    mutations = read_mutations(options.patches, options.only)
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit("Another process tests mutations in this clone.") from None
        tree = Tree(ROOT, WORK)
        tree.update()
        suite = Suite(tree)
        if not _pass_without_mutation(tree, suite, mutations, whole=options.whole):
            return 1
        return _report(tree, suite, mutations, whole=options.whole)


def _pass_without_mutation(tree: Tree, suite: Suite, mutations: Sequence[Mutation], *, whole: bool) -> bool:
    began = time.monotonic()
    named = sorted({path for mutation in mutations for path in mutation.tests})
    missing = [path for path in named if not tree.has(path)]
    for path in missing:
        print(f"{path} does not exist. Name other tests in the `Tests:` lines of its mutations.")
    try:
        failures = suite.all_failures([path for path in named if path not in missing])
    except BrokenTests as error:
        print(f"The tests cannot run without a mutation: {error}")
        return False
    for test in failures:
        print(f"{test} fails without a mutation.")
    if failures or (missing and not whole):
        return False
    print(f"The named tests pass without a mutation ({time.monotonic() - began:.0f} s).\n", flush=True)
    return True


def _report(tree: Tree, suite: Suite, mutations: Sequence[Mutation], *, whole: bool) -> int:
    width = max(len(mutation.name) for mutation in mutations)
    print(f"{'mutation':<{width}}  {'result':<10}  {'seconds':>7}  failing test")
    outcomes: list[Outcome] = []
    for mutation in mutations:
        began = time.monotonic()
        outcome = _try(tree, suite, mutation, whole=whole)
        outcomes.append(outcome)
        seconds = time.monotonic() - began
        print(f"{mutation.name:<{width}}  {outcome.word:<10}  {seconds:>7.1f}  {outcome.detail}", flush=True)
    caught = sum(outcome.is_caught for outcome in outcomes)
    print(f"\n{caught} of {len(mutations)} caught")
    if any(outcome.word == "rejected" for outcome in outcomes):
        print(REFRESH, end="")
    return 0 if caught == len(mutations) else 1


def _try(tree: Tree, suite: Suite, mutation: Mutation, *, whole: bool) -> Outcome:
    """Plant one bug and find the first test that fails because of it."""
    named = [path for path in mutation.tests if tree.has(path)]
    try:
        with tree.mutated(mutation.patch, mutation.files):
            found = suite.first_failure(named, changed=mutation.files)
        levels = iter(mutation.suite if whole else ())
        while found is None and (level := next(levels, None)):
            found = _first_failure_of_level(tree, suite, mutation, level)
    except PatchRejected as error:
        return Outcome("rejected", f"the patch does not apply: {error}")
    except BrokenTests as error:
        return Outcome("broken", f"the tests cannot run: {error}")
    return Outcome("caught", found) if found else Outcome("NOT CAUGHT", mutation.bug)


def _first_failure_of_level(tree: Tree, suite: Suite, mutation: Mutation, level: str) -> str | None:
    """The first test that fails with the mutation and passes without it."""
    anyway: list[str] = []
    while True:
        with tree.mutated(mutation.patch, mutation.files):
            found = suite.first_failure([level], changed=mutation.files, without=anyway)
        if found is None or found in anyway:
            return None
        if suite.first_failure([found]) is None:
            return found
        anyway.append(found)


if __name__ == "__main__":
    sys.exit(main())
