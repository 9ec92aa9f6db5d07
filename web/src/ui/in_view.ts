// SPDX-License-Identifier: Apache-2.0
// Attachments that say whether an element is in view, with a margin of pixels above and below.
import type { Attachment } from "svelte/attachments";

export function watchView(margin: number, onchange: (isInView: boolean) => void): Attachment<HTMLElement> {
  return (element) => {
    // A busy browser reports several changes at once; the last one is how things are.
    const observer = new IntersectionObserver((entries) => onchange(entries.at(-1)?.isIntersecting ?? false), {
      rootMargin: `${margin}px`,
    });
    observer.observe(element);
    return () => observer.disconnect();
  };
}

export function onceInView(margin: number, then: () => void): Attachment<HTMLElement> {
  return (element) => {
    const stop = watchView(margin, (isInView) => {
      if (!isInView) return;
      stop?.();
      then();
    })(element);
    return stop;
  };
}
