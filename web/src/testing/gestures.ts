// SPDX-License-Identifier: Apache-2.0
// Gestures of component tests that take several steps of the mouse, or a finger.
import { cdp, commands, type Locator } from "vitest/browser";
import { vi } from "vitest";

export interface Point {
  x: number;
  y: number;
}

/** A place in an element, as shares of its width and height. */
export function placeIn(target: Locator, across = 0.5, down = 0.5): Point {
  const box = target.element().getBoundingClientRect();
  return { x: box.left + box.width * across, y: box.top + box.height * down };
}

export async function moveMouse({ x, y }: Point): Promise<void> {
  await commands.mouseMove(x, y);
}

export async function drag(from: Point, to: Point, steps = 4): Promise<void> {
  await commands.mouseMove(from.x, from.y);
  await commands.mouseDown();
  await commands.mouseMove(to.x, to.y, steps);
  await commands.mouseUp();
}

/** Make the browser one that is used with a finger; what is returned takes that back. */
export async function useTouch(): Promise<() => Promise<void>> {
  const session = cdp() as unknown as { send(method: string, options: object): Promise<void> };
  const setEnabled = (enabled: boolean) => session.send("Emulation.setTouchEmulationEnabled", { enabled });
  await setEnabled(true);
  return () => setEnabled(false);
}

/** Touch an element for a moment. */
export async function tap(target: Locator): Promise<void> {
  target.element().scrollIntoView({ block: "nearest" });
  const { x, y } = placeIn(target);
  await commands.touchTap(x, y);
}

/** The text of the file that an action gives away. */
export async function downloadedText(action: () => Promise<unknown>): Promise<string> {
  const files: Blob[] = [];
  const create = vi.spyOn(URL, "createObjectURL").mockImplementation((file) => {
    files.push(file as Blob);
    return "blob:stub";
  });
  const click = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  try {
    await action();
    await vi.waitFor(() => {
      if (!files.length) throw new Error("No file was saved.");
    }, 10_000);
    return await (files[0] as Blob).text();
  } finally {
    create.mockRestore();
    click.mockRestore();
  }
}
