// SPDX-License-Identifier: Apache-2.0
// The state of a view as one typed value that is written to and read from the query of an address.
// What has its usual value is left out, so that addresses stay short; what cannot be read has its usual value.

export interface Part<T> {
  usual: T;
  read(text: string): T | undefined;
  write(value: T): string;
}

export type Parts = Record<string, Part<unknown>>;
export type StateOf<P extends Parts> = { [K in keyof P]: P[K] extends Part<infer T> ? T : never };

export function text(usual = ""): Part<string> {
  return { usual, read: (written) => written, write: (value) => value };
}

export function flag(usual = false): Part<boolean> {
  return { usual, read: (written) => written === "1", write: (value) => (value ? "1" : "0") };
}

export function number(usual: number, least = -Infinity, most = Infinity): Part<number> {
  return {
    usual,
    read(written) {
      const value = Number(written);
      return written !== "" && Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : undefined;
    },
    write: String,
  };
}

export function choice<const T extends string>(allowed: readonly T[], usual: T): Part<T> {
  return { usual, read: (written) => allowed.find((one) => one === written), write: (value) => value };
}

/** A list of texts, divided by commas; a comma or backslash inside of one is escaped. */
export function list(usual: readonly string[] = []): Part<readonly string[]> {
  return {
    usual,
    read(written) {
      if (written === "") return [];
      const found: string[] = [""];
      for (let at = 0; at < written.length; at++) {
        const character = written[at] as string;
        if (character === ",") found.push("");
        else found[found.length - 1] += character === "\\" ? (written[++at] ?? "") : character;
      }
      return [...new Set(found)]; // who names something twice means it once
    },
    write: (value) => value.map((one) => one.replace(/[\\,]/g, "\\$&")).join(","),
  };
}

/** Two numbers, or none. */
export function span(): Part<readonly [number, number] | null> {
  return {
    usual: null,
    read(written) {
      const [from, to] = written.split("~").map(Number);
      const isSpan = Number.isFinite(from) && Number.isFinite(to) && (to as number) > (from as number);
      return isSpan ? [from as number, to as number] : undefined;
    },
    write: (value) => (value ? `${value[0]}~${value[1]}` : ""),
  };
}

export function readState<P extends Parts>(parts: P, query: URLSearchParams): StateOf<P> {
  const state: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(parts)) {
    const written = query.get(name);
    const value = written === null ? undefined : part.read(written);
    state[name] = value === undefined ? part.usual : value;
  }
  return state as StateOf<P>;
}

export function writeState<P extends Parts>(parts: P, state: StateOf<P>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, part] of Object.entries(parts)) {
    const written = part.write(state[name as keyof P]);
    if (written !== part.write(part.usual)) query.set(name, written);
  }
  return query;
}
