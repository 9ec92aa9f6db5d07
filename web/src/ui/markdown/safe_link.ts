// SPDX-License-Identifier: Apache-2.0
// Where a link in a logged text may lead: to other sites, never into a script.

export function safeLink(address: string): string | undefined {
  try {
    const { protocol, href } = new URL(address);
    return ["http:", "https:", "mailto:"].includes(protocol) ? href : undefined;
  } catch {
    return undefined; // relative: there is nothing beside a logged text that it could mean
  }
}
