// SPDX-License-Identifier: Apache-2.0
// Questions that are asked while the page is still being loaded; who asks them later gets their answers.

declare global {
  // The script that asks and the page that takes the answer are built apart.
  var aboardEarly: Map<string, Promise<Response>> | undefined;
}

const FRESH = 5000; // milliseconds: what is older is asked again

/** An answer that is here with all that it says: reading it takes no further turn of the browser. */
class Arrived extends Response {
  constructor(
    { status, headers }: Response,
    private readonly content: ArrayBuffer,
  ) {
    super(null, { status, headers });
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(this.content);
  }

  override async json(): Promise<unknown> {
    return JSON.parse(new TextDecoder().decode(this.content)) as unknown;
  }
}

export function prefetch(address: string): void {
  const asked = (globalThis.aboardEarly ??= new Map<string, Promise<Response>>());
  const answer = fetch(address, { headers: { Accept: "application/json, */*" } }).then(
    async (begun) => new Arrived(begun, await begun.arrayBuffer()),
  );
  answer.catch(() => undefined); // who takes the answer is told
  asked.set(address, answer);
  setTimeout(() => asked.delete(address), FRESH);
}

/** Waits until everything that was asked early is answered or has failed, but not longer than so many milliseconds. */
export async function waitForPrefetched(most: number): Promise<void> {
  const asked = globalThis.aboardEarly;
  if (!asked?.size) return;
  await Promise.race([Promise.allSettled(asked.values()), new Promise((go) => setTimeout(go, most))]);
}

/** The answer to a question that was asked early, once. */
export function takePrefetched(address: string): Promise<Response> | undefined {
  const answer = globalThis.aboardEarly?.get(address);
  globalThis.aboardEarly?.delete(address);
  return answer;
}
