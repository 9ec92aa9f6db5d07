// SPDX-License-Identifier: Apache-2.0
// Numbers of runs in few characters: `1-5,9`. Their order is kept, because the first may be the reference.

export function formatNumbers(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < numbers.length;) {
    let end = at;
    while (numbers[end + 1] === (numbers[end] as number) + 1) end += 1;
    parts.push(end - at > 1 ? `${numbers[at]}-${numbers[end]}` : numbers.slice(at, end + 1).join(","));
    at = end + 1;
  }
  return parts.join(",");
}

/** Of more than these the first are taken. */
export const MOST_NAMED = 2000;

export function parseNumbers(text: string): number[] {
  return parseNames(text).numbers;
}

/** What a text names: numbers, words that name no run, and whether it names more runs than are taken. */
export function parseNames(text: string): { numbers: number[]; odd: string[]; isCut: boolean } {
  const found = new Set<number>();
  const odd: string[] = [];
  let isCut = false;
  for (const part of text.split(",")) {
    const match = /^\s*(?:run)?(\d{1,15})(?:-(?:run)?(\d{1,15}))?\s*$/.exec(part);
    const from = Number(match?.[1]);
    const to = match?.[2] === undefined ? from : Number(match[2]);
    if (part.trim() && !(from <= to)) odd.push(part.trim());
    for (let number = from; number <= to && !isCut; number++) {
      isCut = found.size === MOST_NAMED && !found.has(number);
      if (!isCut) found.add(number);
    }
  }
  return { numbers: [...found], odd, isCut };
}
