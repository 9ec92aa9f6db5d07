// SPDX-License-Identifier: Apache-2.0
// Asks the server, and turns what goes wrong into words.
import { addressOf, type Query } from "./address";
import { connection } from "./connection.svelte";
import { takeEarly } from "./early";

export { addressOf, PREFIX, type Query } from "./address";

/** Something that the server refused or could not do; the place in a query where there is one. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = "",
    readonly start?: number,
    readonly end?: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface Asked {
  query?: Query;
  method?: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
}

export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const answer = await send(path, asked);
  return (await answer.json()) as T;
}

/** The answer itself, for what is not JSON. */
export async function send(path: string, asked: Asked = {}): Promise<Response> {
  const { method = "GET", body, query = {}, signal } = asked;
  const options: RequestInit = { method, headers: { Accept: "application/json, */*" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...options.headers, "Content-Type": "application/json" };
  }
  if (signal) options.signal = signal;
  let answer: Response;
  try {
    const address = addressOf(path, query);
    answer = await ((method === "GET" && takeEarly(address)) || fetch(address, options));
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.lost();
    throw new ApiError(0, "unreachable", "The server does not answer", "It is asked again until it does.");
  }
  connection.answered();
  if (answer.ok) return answer;
  if (answer.status === 401) connection.loginNeeded();
  throw await refusal(answer);
}

async function refusal(answer: Response): Promise<ApiError> {
  const { status } = answer;
  try {
    const said = ((await answer.json()) as { error: Record<string, unknown> }).error;
    const place = (name: string): number | undefined => (typeof said[name] === "number" ? said[name] : undefined);
    const message = String(said["problem"] ?? said["message"]);
    return new ApiError(
      status,
      String(said["code"]),
      message,
      String(said["hint"] ?? ""),
      place("start"),
      place("end"),
    );
  } catch {
    return new ApiError(status, "unknown", `The server answered with status ${status}`);
  }
}

/** What went wrong, for a person. */
export function wordsOf(error: unknown): { message: string; hint: string } {
  if (error instanceof ApiError) return { message: error.message, hint: error.hint };
  return { message: error instanceof Error ? error.message : String(error), hint: "" };
}
