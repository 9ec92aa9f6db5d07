// SPDX-License-Identifier: Apache-2.0
// What was changed in the code of a run since its commit, file by file, and in which files two runs differ.

/** What is told where none was recorded. */
export const NO_DIFF = "None were recorded: the code was as committed, or not in a git repository.";

/** Of each changed file its part of a diff. */
export function splitDiff(diff: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of diff.split(/^(?=diff --git )/m)) {
    const name = /^diff --git (?:a\/|"a\/)(.+?)"? (?:b\/|"b\/)/.exec(part)?.[1];
    if (part.trim()) found.set(name ?? "", part);
  }
  return found;
}

export interface ChangedFile {
  name: string;
  /** The two parts; none where the file is as it was committed. */
  sides: [string | undefined, string | undefined];
  differs: boolean;
}

/** Which bytes git compared says nothing about what was changed. */
function withoutIndex(part: string | undefined): string | undefined {
  return part?.replace(/^index .*\n/m, "").trimEnd();
}

export function compareDiffs(one: string, other: string): ChangedFile[] {
  const [left, right] = [splitDiff(one), splitDiff(other)];
  return [...new Set([...left.keys(), ...right.keys()])].sort().map((name) => {
    const sides: ChangedFile["sides"] = [left.get(name), right.get(name)];
    return { name, sides, differs: withoutIndex(sides[0]) !== withoutIndex(sides[1]) };
  });
}
