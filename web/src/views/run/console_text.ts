// SPDX-License-Identifier: Apache-2.0
// What a training printed, as lines: without the signs that colour terminals, and with progress bars as they ended.

const ESCAPES =
  /\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007]*\u0007|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f]/g;

export function consoleLines(text: string): string[] {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    const parts = line.replace(ESCAPES, "").split("\r");
    // A line that was written over shows what was written last.
    return parts.findLast((part) => part !== "") ?? "";
  });
}

export interface LineMatch {
  before: string;
  hit: string;
  after: string;
}

/** A line in three parts around what is looked for; none where it is not in it. */
export function splitAtMatch(line: string, wanted: string): LineMatch | undefined {
  if (!wanted) return undefined;
  const at = line.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return undefined;
  const end = at + wanted.length;
  return { before: line.slice(0, at), hit: line.slice(at, end), after: line.slice(end) };
}
