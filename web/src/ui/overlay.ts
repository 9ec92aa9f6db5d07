// SPDX-License-Identifier: Apache-2.0
// Panels and menus above the page: in the browser's top layer, which nothing clips, and always inside of the window.

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const [GAP, EDGE] = [4, 8]; // pixels to what it belongs to, and to the edge of the window

/**
 * Where a panel stands: below its anchor, or above it where there is more room; aligned with its left or right end,
 * and moved as far as the window needs.
 */
export function placeOverlay(
  anchor: Box,
  panel: { width: number; height: number },
  view: { width: number; height: number },
  toRight = false,
): { left: number; top: number } {
  const wanted = toRight ? anchor.right - panel.width : anchor.left;
  const below = anchor.bottom + GAP;
  const above = anchor.top - GAP - panel.height;
  const isBelow = below + panel.height <= view.height - EDGE || view.height - anchor.bottom >= anchor.top;
  return {
    left: Math.max(EDGE, Math.min(wanted, view.width - EDGE - panel.width)),
    top: Math.max(EDGE, Math.min(isBelow ? below : above, view.height - EDGE - panel.height)),
  };
}

/** Shows an element with `popover="manual"` beside its anchor for as long as it exists. */
export function overlay(anchor: () => Box, toRight = false): (panel: HTMLElement) => () => void {
  return (panel) => {
    const place = (): void => {
      const { left, top } = placeOverlay(
        anchor(),
        { width: panel.offsetWidth, height: panel.offsetHeight },
        { width: innerWidth, height: innerHeight },
        toRight,
      );
      panel.style.left = `${left}px`;
      panel.style.top = `${top}px`;
    };
    if (!panel.matches(":popover-open")) panel.showPopover();
    place();
    const sized = new ResizeObserver(place);
    sized.observe(panel);
    addEventListener("resize", place);
    addEventListener("scroll", place, { capture: true, passive: true });
    return () => {
      sized.disconnect();
      removeEventListener("resize", place);
      removeEventListener("scroll", place, { capture: true });
    };
  };
}
