// SPDX-License-Identifier: Apache-2.0
// Numbers of runs in few characters: `1-5,9`. Their order is kept, because the first may be the reference.

export function writtenNumbers(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < numbers.length;) {
    let end = at;
    while (numbers[end + 1] === (numbers[end] as number) + 1) end += 1;
    parts.push(end - at > 1 ? `${numbers[at]}-${numbers[end]}` : numbers.slice(at, end + 1).join(","));
    at = end + 1;
  }
  return parts.join(",");
}

const MOST = 2000;

export function readNumbers(text: string): number[] {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^\s*(?:run)?(\d{1,15})(?:-(?:run)?(\d{1,15}))?\s*$/.exec(part);
    if (!match) continue;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    for (let number = from; number <= to && found.size < MOST; number++) found.add(number);
  }
  return [...found];
}
