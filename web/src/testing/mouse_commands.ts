// SPDX-License-Identifier: Apache-2.0
// The mouse of the browser, for gestures that `userEvent` does not have. This file runs in Node.
import { defineBrowserCommand } from "@vitest/browser-playwright";
import type { BrowserCommandContext } from "vitest/node";

declare module "vitest/browser" {
  interface BrowserCommands {
    mouseMove(x: number, y: number, steps?: number): Promise<void>;
    mouseDown(): Promise<void>;
    mouseUp(): Promise<void>;
    mouseWheel(deltaY: number): Promise<void>;
    touchTap(x: number, y: number): Promise<void>;
  }
}

/** Tests run in a frame that does not begin at the edge of the window. */
async function origin(context: BrowserCommandContext): Promise<{ x: number; y: number }> {
  const frame = await (await context.frame()).frameElement();
  return (await frame.boundingBox()) ?? { x: 0, y: 0 };
}

export const mouseCommands = {
  mouseMove: defineBrowserCommand<[number, number, number?]>(async (context, x, y, steps = 1) => {
    const start = await origin(context);
    await context.page.mouse.move(start.x + x, start.y + y, { steps });
  }),
  mouseDown: defineBrowserCommand(({ page }) => page.mouse.down()),
  mouseUp: defineBrowserCommand(({ page }) => page.mouse.up()),
  mouseWheel: defineBrowserCommand<[number]>(({ page }, deltaY) => page.mouse.wheel(0, deltaY)),
  touchTap: defineBrowserCommand<[number, number]>(async (context, x, y) => {
    const start = await origin(context);
    // By the protocol: playwright's touchscreen wants a context that has one from the beginning.
    const session = await context.context.newCDPSession(context.page);
    const touchPoints = [{ x: start.x + x, y: start.y + y }];
    await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints });
    await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await session.detach();
  }),
};
