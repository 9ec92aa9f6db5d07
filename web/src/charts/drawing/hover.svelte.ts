// SPDX-License-Identifier: Apache-2.0
// Where the pointer is, for all charts and lists together: the place on the axis and the run.

class Hover {
  /** A place on the axis that charts have in common; none while the pointer is elsewhere. */
  x = $state<number>();
  /** The uid of a run, or the key of a group; empty for none. */
  key = $state("");
  /** The chart that the pointer is in. */
  chart = $state("");

  leave(): void {
    this.x = undefined;
    this.key = "";
    this.chart = "";
  }
}

export const hover = new Hover();
