// SPDX-License-Identifier: Apache-2.0
// What the comparison shows: all of it stands in the address.
import { choice, flag, list, number, span, text } from "./query_codec";

export const TABS = ["charts", "differences", "media", "parameters"] as const;
export const SMOOTHINGS = ["none", "exponential", "time", "mean", "gaussian", "median"] as const;
export const CENTRES = ["mean", "median"] as const;
export const AREAS = ["range", "deviation", "confidence", "none"] as const;
export const LOOKS = ["side", "wipe", "difference"] as const;
export const X_AXES = ["step", "relative", "wall", "metric"] as const;

/** How charts are drawn, wherever they are. */
export const CHART_VIEW = {
  /** A regular expression that tags must match. */
  tags: text(),
  x: choice(X_AXES, "step"),
  xmetric: text(),
  logx: flag(),
  logy: flag(),
  smoothing: choice(SMOOTHINGS, "none"),
  amount: number(0.6, 0, 0.999),
  /** A field of runs; runs with the same value become one curve. */
  group: text(),
  centre: choice(CENTRES, "mean"),
  area: choice(AREAS, "range"),
  outliers: flag(),
  bands: flag(true),
  /** Whether points are drawn that later attempts replaced. */
  superseded: flag(),
  pinned: list(),
  derived: list(),
  /** Sections that are not as they usually are. */
  toggled: list(),
  zoom: span(),
  /** Charts whose values are not on the scale that the others have. */
  rescaled: list(),
  /** The chart that is shown large. */
  large: text(),
  columns: number(3, 1, 6),
};

export const COMPARE_VIEW = {
  ...CHART_VIEW,
  tab: choice(TABS, "charts"),
  /** Numbers of runs; where there are none, a filter says which. */
  runs: text(),
  where: text(),
  sort: text("-created"),
  first: number(10, 0, 500),
  shown: list(),
  hidden: list(),
  /** What is looked for in the list of runs. */
  find: text(),
  /** Of the differences: the run that others are compared with, whether what is the same is shown too, which fields, and whose code. */
  reference: text(),
  all: flag(),
  field: text(),
  code: text(),
  /** Of the media: which tags, where on the slider, and how pictures stand beside each other. */
  media: text(),
  step: text(),
  look: choice(LOOKS, "side"),
  /** The two pictures that are on top of each other, and how much of each is seen. */
  pair: list(),
  wipe: number(50, 0, 100),
  /** Whether the histograms of all runs stand on one axis. */
  together: flag(),
  /** Whether texts are shown as they were logged, and not as Markdown. */
  plain: flag(),
  /** Of the parameters: axes, the metric that colours them, what was chosen on them, and the axis of the scatter. */
  axes: list(),
  target: text(),
  chosen: list(),
  scatter: text(),
};
