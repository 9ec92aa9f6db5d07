// SPDX-License-Identifier: Apache-2.0
// Keyboard shortcuts: views register theirs, and the list of them is made from that.
import { untrack } from "svelte";

export interface Shortcut {
  key: string;
  what: string;
  run: () => void;
}

let current = $state.raw<{ title: string; shortcuts: Shortcut[] }[]>([]);
export const help = $state({ open: false });

/** Register the shortcuts of a view; call it in an effect, which removes them with the returned function. */
export function registerShortcuts(title: string, shortcuts: Shortcut[]): () => void {
  const entry = { title, shortcuts };
  // An effect that registers shortcuts must not depend on those of others.
  untrack(() => (current = [entry, ...current]));
  return () => untrack(() => (current = current.filter((one) => one !== entry)));
}

export function activeShortcuts(): { title: string; shortcuts: Shortcut[] }[] {
  return [...current, { title: "Everywhere", shortcuts: EVERYWHERE }];
}

const EVERYWHERE: Shortcut[] = [{ key: "?", what: "This list", run: () => (help.open = !help.open) }];

export function handleKey(event: KeyboardEvent): void {
  if (event.key === "Escape" && help.open) {
    help.open = false;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isCovered()) return;
  if (event.target instanceof Element && isOwnKey(event.target, event.key)) return;
  for (const { shortcuts } of activeShortcuts()) {
    const found = shortcuts.find((one) => one.key === event.key);
    if (found) {
      event.preventDefault();
      found.run();
      return;
    }
  }
}

/** A window over the page has the keys, wherever in it the focus is. */
function isCovered(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

const FIELD = `textarea, input:not([type="checkbox"], [type="radio"], [type="range"])`;
/** What is typed into, and panels of buttons. */
const ALL_KEYS = `${FIELD}, select, [role="dialog"]`;
const ARROWS = `input[type="range"], input[type="radio"], audio`;
const ENTER = "a, button, summary, label, audio";

/** Attach to what opens: its first text field takes the focus. The `autofocus` attribute only works while nothing has it. */
export function focusField(opened: HTMLElement): void {
  const field = opened.matches(FIELD) ? opened : opened.querySelector<HTMLElement>(FIELD);
  field?.focus();
  if (field instanceof HTMLInputElement) field.select();
}

/** Whether a key means something to what has the focus. */
function isOwnKey(target: Element, key: string): boolean {
  if (target.closest(ALL_KEYS)) return true;
  if (key.startsWith("Arrow")) return target.matches(ARROWS);
  return key === "Enter" && target.closest(ENTER) !== null;
}
