// SPDX-License-Identifier: Apache-2.0
// The layout of a chart: margins that fit the tick labels, and where values stand.
import type { Span, XKind } from "../lines/line";
import { axisScale, axisTicks, type Tick, valueAt } from "./axis";
import type { Axes } from "./stretches";

/** The plot area of a chart, in CSS pixels of its canvas. */
export interface Frame extends Axes {
  left: number;
  top: number;
  width: number;
  height: number;
  y: (value: number) => number;
}

export interface ChartFrame extends Frame {
  xTicks: Tick[];
  yTicks: Tick[];
  /** The value of the x axis at a pixel of the canvas. */
  xAt: (pixel: number) => number;
}

export interface FrameOptions {
  width: number;
  height: number;
  ranges: { x: Span; y: Span };
  x: XKind;
  logX: boolean;
  logY: boolean;
  /** The width of a text in pixels. */
  measure: (text: string) => number;
}

export const TICK = 4; // pixels: the length of a tick, and its distance to the label
const TOP = 8;
const [X_ROOM, Y_ROOM] = [72, 34]; // pixels for one tick

export function chartFrame({ width, height, ranges, x, logX, logY, measure }: FrameOptions): ChartFrame {
  const xAxis = { kind: x, span: ranges.x, isLog: logX };
  const yAxis = { kind: "metric" as const, span: ranges.y, isLog: logY };
  const xTicks = axisTicks(xAxis, Math.floor((width - 64) / X_ROOM));
  const yTicks = axisTicks(yAxis, Math.floor((height - 34) / Y_ROOM));
  const left = Math.max(52, widest(yTicks, measure) + 3 * TICK);
  const right = Math.max(12, Math.ceil(widest(xTicks, measure) / 2) + 2); // room for the label of the last tick
  const bottom = x === "wall" ? 40 : 26; // times have a second line
  const area = { left, top: TOP, width: Math.max(1, width - left - right), height: height - TOP - bottom };
  return {
    ...area,
    xTicks,
    yTicks,
    x: axisScale(xAxis, left, area.width),
    y: axisScale(yAxis, TOP + area.height, -area.height),
    xAt: (pixel) => valueAt(xAxis, (pixel - left) / area.width),
    yRange: ranges.y,
    logY,
  };
}

function widest(ticks: readonly Tick[], measure: (text: string) => number): number {
  return Math.ceil(Math.max(0, ...ticks.flatMap(({ text }) => text.split("\n")).map(measure)));
}
