// SPDX-License-Identifier: Apache-2.0
// What the comparison shows: all of it stands in the address.
import { choice, flag, list, number, span, text } from "../routing/query_codec";

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
  pinned: list(),
  derived: list(),
  /** Sections that are not as they usually are. */
  toggled: list(),
  zoom: span(),
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
  /** Of the differences: the run that others are compared with, and whether what is the same is shown too. */
  reference: text(),
  all: flag(),
  /** Of the media: which tags, where on the slider, and how pictures stand beside each other. */
  media: text(),
  step: text(),
  look: choice(LOOKS, "side"),
  /** Whether texts are shown as they were logged, and not as Markdown. */
  plain: flag(),
  /** Of the parameters: axes, and the metric that colours them. */
  axes: list(),
  target: text(),
};
