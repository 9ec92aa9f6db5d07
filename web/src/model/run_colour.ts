// SPDX-License-Identifier: Apache-2.0
// Colours that people give to runs. They are a tag of the run, so that they are kept, shared and exported with it.
import type { Run, RunChange } from "./wire";

export const COLOUR_TAG = "aboard.color";

/** In the order of the palette. */
export const COLOUR_NAMES = [
  "blue",
  "vermilion",
  "green",
  "pink",
  "olive",
  "indigo",
  "sky",
  "wine",
  "forest",
  "purple",
  "grey",
  "brown",
] as const;
export type ColourName = (typeof COLOUR_NAMES)[number];

/** The place in the palette of the colour that somebody gave to a run. */
export function givenColour(run: Pick<Run, "tags">): number | undefined {
  const index = COLOUR_NAMES.indexOf(run.tags[COLOUR_TAG] as ColourName);
  return index < 0 ? undefined : index;
}

/** Without a name the run gets a colour automatically again. */
export function colourChange(name: ColourName | undefined): RunChange {
  return name ? { set_tags: { [COLOUR_TAG]: name } } : { remove_tags: [COLOUR_TAG] };
}

/** The tags that are shown as tags. */
export function plainTags(tags: Record<string, string>): [string, string][] {
  return Object.entries(tags).filter(([name]) => name !== COLOUR_TAG);
}
