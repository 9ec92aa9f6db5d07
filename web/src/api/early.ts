// SPDX-License-Identifier: Apache-2.0
// Questions that are asked while the page is still being loaded; who asks them later gets their answers.

const asked = new Map<string, Promise<Response>>();
const FRESH = 5000; // milliseconds: what is older is asked again

export function askEarly(address: string): Promise<Response> {
  const answer = fetch(address, { headers: { Accept: "application/json, */*" } });
  answer.catch(() => undefined); // who takes the answer is told
  asked.set(address, answer);
  setTimeout(() => asked.delete(address), FRESH);
  return answer;
}

/** The answer to a question that was asked early, once. */
export function takeEarly(address: string): Promise<Response> | undefined {
  const answer = asked.get(address);
  asked.delete(address);
  return answer?.then((one) => one.clone());
}
