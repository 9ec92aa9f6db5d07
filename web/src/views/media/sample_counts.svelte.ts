// SPDX-License-Identifier: Apache-2.0
// How many pictures or sounds a tag of a run has at a step; asked when the step is looked at.
import { type MediaPlace, mediaSamples } from "../../data/files";
import type { WireNumber } from "../../model/wire";

export class SampleCounts {
  private counts = $state.raw<ReadonlyMap<string, number>>(new Map());
  private requested = new Set<string>();

  /** One until it is known better. */
  of(place: MediaPlace, step: WireNumber): number {
    return this.counts.get(keyOf(place, step)) ?? 1;
  }

  async find(place: MediaPlace, step: WireNumber): Promise<void> {
    const key = keyOf(place, step);
    if (this.requested.has(key)) return;
    this.requested.add(key);
    try {
      const count = await mediaSamples(place, step);
      if (count > 1) this.counts = new Map(this.counts).set(key, count);
    } catch {
      this.requested.delete(key); // what is wrong is seen at the first sample
    }
  }
}

function keyOf(place: MediaPlace, step: WireNumber): string {
  return JSON.stringify([place.run, place.logdir, place.tag, place.kind, step]);
}
