// SPDX-License-Identifier: Apache-2.0
// A value that a component loads: again when what it depends on changes, and when the server is back.
import { connection } from "./connection.svelte";

export class Resource<T> {
  /** The newest value; it stays while another one is loading, and when that fails. */
  value = $state.raw<T>();
  /** Why the newest request failed. */
  error = $state.raw<unknown>();
  private started = 0;
  private finished = 0;

  /** Create it while a component is initialized: `load` runs in an effect. It returns undefined when there is nothing to load. */
  constructor(load: () => Promise<T> | undefined) {
    $effect(() => {
      void connection.reconnects;
      const loading = load();
      if (loading) void this.take(loading);
    });
  }

  /** A response never replaces that of a later request. */
  async take(loading: Promise<T>): Promise<void> {
    const mine = ++this.started;
    const [answer] = await Promise.allSettled([loading]);
    if (mine < this.finished) return;
    this.finished = mine;
    if (answer.status === "fulfilled") this.value = answer.value;
    this.error = answer.status === "rejected" ? answer.reason : undefined;
  }
}
