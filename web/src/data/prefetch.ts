// SPDX-License-Identifier: Apache-2.0
// Requests that are sent while the page is still loading; later requests for the same address take their responses.

declare global {
  // The script that sends them and the page that takes the responses are built separately.
  var aboardPrefetched: Map<string, Promise<Response>> | undefined;
}

const FRESH = 5000; // milliseconds: older responses are not used

/** A response with its whole body: reading it takes no further turn of the browser. */
class BufferedResponse extends Response {
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
  const pending = (globalThis.aboardPrefetched ??= new Map<string, Promise<Response>>());
  const response = fetch(address, { headers: { Accept: "application/json, */*" } }).then(
    async (begun) => new BufferedResponse(begun, await begun.arrayBuffer()),
  );
  response.catch(() => undefined); // whoever takes the response handles the error
  pending.set(address, response);
  setTimeout(() => pending.delete(address), FRESH);
}

/** Wait until all prefetched requests have finished, but at most so many milliseconds. */
export async function waitForPrefetched(most: number): Promise<void> {
  const pending = globalThis.aboardPrefetched;
  if (!pending?.size) return;
  await Promise.race([Promise.allSettled(pending.values()), new Promise((go) => setTimeout(go, most))]);
}

/** The response of a prefetched request; each is taken once. */
export function takePrefetched(address: string): Promise<Response> | undefined {
  const response = globalThis.aboardPrefetched?.get(address);
  globalThis.aboardPrefetched?.delete(address);
  return response;
}
