// SPDX-License-Identifier: Apache-2.0
// Keys: views say which they understand, and the list of them is made from that.
import { untrack } from "svelte";

export interface Shortcut {
  key: string;
  what: string;
  run: () => void;
}

let current = $state.raw<{ title: string; shortcuts: Shortcut[] }[]>([]);
export const help = $state({ open: false });

/** The keys of a view, for as long as it is there; to be called in an effect. */
export function offer(title: string, shortcuts: Shortcut[]): () => void {
  const entry = { title, shortcuts };
  // An effect that offers keys must not depend on what others offer.
  untrack(() => (current = [entry, ...current]));
  return () => untrack(() => (current = current.filter((one) => one !== entry)));
}

export function offered(): { title: string; shortcuts: Shortcut[] }[] {
  return [...current, { title: "Everywhere", shortcuts: EVERYWHERE }];
}

const EVERYWHERE: Shortcut[] = [{ key: "?", what: "This list", run: () => (help.open = !help.open) }];

export function onKey(event: KeyboardEvent): void {
  if (event.key === "Escape" && help.open) {
    help.open = false;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
  for (const { shortcuts } of offered()) {
    const found = shortcuts.find((one) => one.key === event.key);
    if (found) {
      event.preventDefault();
      found.run();
      return;
    }
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
      target.closest("dialog") !== null) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|range)$/.test(target.type))
  );
}
