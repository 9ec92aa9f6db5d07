// SPDX-License-Identifier: Apache-2.0
// Tells when charts were first drawn, as marks of the browser's own timeline, for measurements.

class DrawnCharts {
  private seen = new Set<string>();

  add(tag: string): void {
    if (this.seen.has(tag)) return;
    this.seen.add(tag);
    performance.mark(`aboard:chart:${this.seen.size}`);
  }
}

export const drawnCharts = new DrawnCharts();
