// SPDX-License-Identifier: Apache-2.0
// Light or dark: what the person chose in this browser, else what their system says.

export type Choice = "system" | "light" | "dark";

const KEY = "aboard.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered(): Choice {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system"; // a browser that keeps nothing
  }
}

class Theme {
  choice = $state<Choice>(remembered());
  private systemIsDark = $state(system.matches);
  readonly isDark = $derived(this.choice === "dark" || (this.choice === "system" && this.systemIsDark));

  constructor() {
    system.addEventListener("change", (event) => {
      this.systemIsDark = event.matches;
      applyTheme();
    });
  }

  choose(choice: Choice): void {
    this.choice = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // It holds until the page is closed.
    }
    applyTheme();
  }
}

export const theme = new Theme();

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.isDark ? "dark" : "light";
}
