// SPDX-License-Identifier: Apache-2.0
// Moments of runs on the axis of a chart: a dashed line with a flag that stands on the axis.
import type { MomentMark } from "../lines/line";
import type { Frame } from "./painting";

const FLAG = 5;
const REACH = 6;
const MOST_SHOWN = 5;

export function paintMoments(context: CanvasRenderingContext2D, moments: readonly MomentMark[], frame: Frame): void {
  const { scale } = frame;
  const bottom = frame.top + frame.height;
  context.save();
  context.lineWidth = scale;
  for (const { x, colour } of moments) {
    const at = frame.x(x);
    if (!(at >= frame.left && at <= frame.left + frame.width)) continue;
    context.globalAlpha = 0.6;
    context.strokeStyle = context.fillStyle = colour;
    context.setLineDash([3 * scale, 3 * scale]);
    context.beginPath();
    context.moveTo(at, frame.top);
    context.lineTo(at, bottom);
    context.stroke();
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(at - FLAG * scale, bottom);
    context.lineTo(at + FLAG * scale, bottom);
    context.lineTo(at, bottom - FLAG * 1.6 * scale);
    context.fill();
  }
  context.restore();
}

/** Those that the pointer is at, the nearest first. */
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
