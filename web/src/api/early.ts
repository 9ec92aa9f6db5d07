// SPDX-License-Identifier: Apache-2.0
// Questions that are asked while the page is still being loaded; who asks them later gets their answers.

declare global {
  // The script that asks and the page that takes the answer are built apart.
  var aboardEarly: Map<string, Promise<Response>> | undefined;
}

const FRESH = 5000; // milliseconds: what is older is asked again

export function askEarly(address: string): void {
  const asked = (globalThis.aboardEarly ??= new Map<string, Promise<Response>>());
  const answer = fetch(address, { headers: { Accept: "application/json, */*" } });
  answer.catch(() => undefined); // who takes the answer is told
  asked.set(address, answer);
  setTimeout(() => asked.delete(address), FRESH);
}

/** The answer to a question that was asked early, once. */
export function takeEarly(address: string): Promise<Response> | undefined {
  const answer = globalThis.aboardEarly?.get(address);
  globalThis.aboardEarly?.delete(address);
  return answer;
}
