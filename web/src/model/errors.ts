// SPDX-License-Identifier: Apache-2.0
// Errors of the API, and how to describe any error to a person.

/** An error response; `start` and `end` are the place in a filter where there is one. */
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

/** The message and the hint of any error. */
export function describeError(error: unknown): { message: string; hint: string } {
  if (error instanceof ApiError) return { message: error.message, hint: error.hint };
  return { message: error instanceof Error ? error.message : String(error), hint: "" };
}
