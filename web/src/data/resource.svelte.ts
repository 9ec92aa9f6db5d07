// SPDX-License-Identifier: Apache-2.0
// A question of a view: asked when what it is about changes, and again when the server is back.
import { connection } from "./connection.svelte";

export class Resource<T> {
  /** The newest answer; it stays while another one is awaited, and when that fails. */
  value = $state.raw<T>();
  /** Why the newest question was not answered. */
  error = $state.raw<unknown>();
  private asked = 0;
  private answered = 0;

  /** To be made while a component is: `question` is an effect of it. There may be nothing to ask. */
  constructor(question: () => Promise<T> | undefined) {
    $effect(() => {
      void connection.returns;
      const asking = question();
      if (asking) void this.take(asking);
    });
  }

  /** An answer never takes the place of one to a later question. */
  async take(asking: Promise<T>): Promise<void> {
    const mine = ++this.asked;
    const [answer] = await Promise.allSettled([asking]);
    if (mine < this.answered) return;
    this.answered = mine;
    if (answer.status === "fulfilled") this.value = answer.value;
    this.error = answer.status === "rejected" ? answer.reason : undefined;
  }
}
