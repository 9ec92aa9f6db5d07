// SPDX-License-Identifier: Apache-2.0
// What is said of a tag under which more than one kind of data was logged: only the first kind is read.
import type { SharedTag } from "../data/series";

const NAMES: Record<string, string> = {
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
  const names = [...found].map((other) => NAMES[other] ?? other).join(" and ");
  return `This tag also holds ${names}, which are not shown. Log each kind of data under its own tag.`;
}
