// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { Resource } from "./resource.svelte";

interface Question {
  asking: Promise<string>;
  done: (answer: string) => void;
  failed: (error: unknown) => void;
}

function question(): Question {
  const made: Partial<Question> = {};
  made.asking = new Promise((done, failed) => Object.assign(made, { done, failed }));
  return made as Question;
}

test("an answer that comes late takes the place of none to a later question", async () => {
  const asked = new Resource<string>(() => undefined);
  const [one, two, three] = [question(), question(), question()];
  const all = [one, two, three].map(({ asking }) => asked.take(asking));
  one.done("one");
  await all[0];
  expect(asked.value).toBe("one");
  three.done("three");
  await all[2];
  two.failed(new Error("too late"));
  await all[1];
  expect([asked.value, asked.error]).toEqual(["three", undefined]);
});

test("an answer stays when the next question fails, and an error goes with the next answer", async () => {
  const asked = new Resource<string>(() => undefined);
  await asked.take(Promise.resolve("one"));
  const gone = new Error("gone");
  await asked.take(Promise.reject(gone));
  expect([asked.value, asked.error]).toEqual(["one", gone]);
  await asked.take(Promise.resolve("two"));
  expect([asked.value, asked.error]).toEqual(["two", undefined]);
});
