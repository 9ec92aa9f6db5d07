// SPDX-License-Identifier: Apache-2.0
// Events of runs on the x axis of a chart: a dashed line with a flag.
import type { MomentMark } from "../lines/line";
import type { Frame } from "./chart_frame";

const FLAG = 5;
const REACH = 6;
const MOST_SHOWN = 5;

export function paintMoments(context: CanvasRenderingContext2D, moments: readonly MomentMark[], frame: Frame): void {
  const bottom = frame.top + frame.height;
  context.save();
  context.lineWidth = 1;
  for (const { x, colour } of moments) {
    const at = frame.x(x);
    if (!(at >= frame.left && at <= frame.left + frame.width)) continue;
    context.globalAlpha = 0.6;
    context.strokeStyle = context.fillStyle = colour;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(at, frame.top);
    context.lineTo(at, bottom);
    context.stroke();
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(at - FLAG, bottom);
    context.lineTo(at + FLAG, bottom);
    context.lineTo(at, bottom - FLAG * 1.6);
    context.fill();
  }
  context.restore();
}

/** Those under the pointer, nearest first. */
export function momentsAt(
  moments: readonly MomentMark[],
  left: number,
  toLeft: (x: number) => number,
): readonly MomentMark[] {
  const away = (one: MomentMark): number => Math.abs(toLeft(one.x) - left);
  return moments
    .filter((one) => away(one) <= REACH)
    .sort((one, other) => away(one) - away(other))
    .slice(0, MOST_SHOWN);
}
