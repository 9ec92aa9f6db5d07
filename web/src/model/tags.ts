// SPDX-License-Identifier: Apache-2.0
// Tags of runs: their sections, which of them match a pattern, and what is said about them.
import { metricName } from "./curve";
import type { SharedTag } from "./wire";

/** The use of the machine, which says nothing about the training. */
export const SYSTEM = /^system(\/|$)/;

export interface Section {
  name: string;
  title: string;
  tags: string[];
  /** Whether it is open by default. */
  isOpen: boolean;
}

const OPEN_CHARTS = 24;
/** So many charts are seen together: sections of one or two would leave most of each row empty. */
const FEW_CHARTS = 9;

/** `count`: of all tags, also of those that a filter leaves out. */
export function groupIntoSections(tags: readonly string[], count = tags.length): Section[] {
  if (count <= FEW_CHARTS) return tags.length ? [{ name: "", title: "Metrics", tags: [...tags], isOpen: true }] : [];
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
    return { name, title: name || "Other", tags: members, isOpen };
  });
}

export interface TagMatcher {
  test: (tag: string) => boolean;
  error: string;
}

/** Tags that match an expression; one that cannot be read matches as plain text, and says so. */
export function matchTags(pattern: string): TagMatcher {
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

/** All names by which a scalar can be meant in a derived metric: its tag, and with its logdir before it. */
export function scalarNames(tags: readonly SharedTag[]): string[] {
  const names = new Set<string>();
  for (const tag of tags) {
    if (tag.kind !== "scalar") continue;
    names.add(tag.tag);
    for (const logdir of tag.logdirs) names.add(metricName(logdir, tag.tag));
  }
  return [...names];
}

const KIND_NAMES: Record<string, string> = {
  scalar: "scalars",
  image: "images",
  audio: "audio",
  histogram: "histograms",
  tensor: "text or tensors",
};

/** A sentence for people; empty if one kind is all there is. `kind` is the kind that is shown. */
export function otherKindsNotice(tags: readonly SharedTag[], tag: string, kind: string): string {
  const found = new Set(tags.flatMap((one) => (one.tag === tag && one.kind === kind ? one.other_kinds : [])));
  if (!found.size) return "";
  const names = [...found].map((other) => KIND_NAMES[other] ?? other).join(" and ");
  return `This tag also holds ${names}, which are not shown. Log each kind of data under its own tag.`;
}
