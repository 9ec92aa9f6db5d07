// SPDX-License-Identifier: Apache-2.0
// Characters that Markdown may spell out, as `&amp;`: read, because nothing here goes through HTML.

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
const HIGHEST = 0x10ffff;

export function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[(name as string).toLowerCase()] ?? whole;
    const code = decimal !== undefined ? Number(decimal) : parseInt(hex as string, 16);
    return code > 0 && code <= HIGHEST ? String.fromCodePoint(code) : whole;
  });
}
