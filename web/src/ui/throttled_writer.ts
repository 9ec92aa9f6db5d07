// SPDX-License-Identifier: Apache-2.0
// Writes the newest of many values, throttled: browsers refuse too many changes of the address.

const PAUSE = 150; // milliseconds
/** So many may come close together: what somebody clicks is written at once. With those of 10 s fewer than 100, Safari's limit. */
const AT_ONCE = 10;
const AGAIN = 1000; // milliseconds after a refusal

export class ThrottledWriter<T> {
  private waiting: { value: T } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When what was written so far would be done, had each write taken a pause. */
  private settled = 0;

  constructor(private readonly write: (value: T) => void) {}

  put(value: T): void {
    this.waiting = { value };
    const early = Math.max(this.settled, Date.now()) - Date.now() - (AT_ONCE - 1) * PAUSE;
    if (early <= 0) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), early);
  }

  /** Write what waits. */
  flush(): void {
    const { waiting } = this;
    this.forget();
    if (!waiting) return;
    this.settled = Math.max(this.settled, Date.now()) + PAUSE;
    try {
      this.write(waiting.value);
    } catch {
      this.waiting = waiting;
      this.timer = setTimeout(() => this.flush(), AGAIN);
    }
  }

  /** What waits is no longer meant. */
  forget(): void {
    clearTimeout(this.timer);
    this.timer = this.waiting = undefined;
  }
}
