// SPDX-License-Identifier: Apache-2.0
// The colours of the theme that a canvas needs; looked up once, because each look makes the browser style the whole page.

export interface ThemeColours {
  ink: string;
  grid: string;
  ground: string;
}

const known = new Map<boolean, ThemeColours>();

export function themeColours(isDark: boolean): ThemeColours {
  let inks = known.get(isDark);
  if (!inks) {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string): string => style.getPropertyValue(name);
    inks = { ink: of("--ink-faint"), grid: of("--grid"), ground: of("--ground") };
    known.set(isDark, inks);
  }
  return inks;
}
