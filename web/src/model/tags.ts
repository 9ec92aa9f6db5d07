// SPDX-License-Identifier: Apache-2.0
// Charts by what their tags begin with; pinned ones and derived ones stand before.

export interface Section {
  name: string;
  tags: string[];
  /** Whether it is open when nobody said otherwise. */
  isOpen: boolean;
}

const OPEN_CHARTS = 24;

export function sectionsOf(tags: readonly string[]): Section[] {
  const by = new Map<string, string[]>();
  for (const tag of tags) {
    const slash = tag.indexOf("/");
    const name = slash > 0 ? tag.slice(0, slash) : "";
    const section = by.get(name);
    if (section) section.push(tag);
    else by.set(name, [tag]);
  }
  let charts = 0;
  return [...by].map(([name, members]) => {
    const isOpen = charts < OPEN_CHARTS;
    charts += members.length;
    return { name, tags: members, isOpen };
  });
}

export interface Wanted {
  test: (tag: string) => boolean;
  error: string;
}

/** Tags that match an expression; one that cannot be read matches as plain text, and says so. */
export function wantedTags(pattern: string): Wanted {
  if (!pattern) return { test: () => true, error: "" };
  try {
    const expression = new RegExp(pattern, "i");
    return { test: (tag) => expression.test(tag), error: "" };
  } catch (error) {
    const text = pattern.toLowerCase();
    const reason = error instanceof Error ? error.message.replace(/^.*: /, "") : "";
    return {
      test: (tag) => tag.toLowerCase().includes(text),
      error: `Not a regular expression (${reason}): taken as text`,
    };
  }
}
