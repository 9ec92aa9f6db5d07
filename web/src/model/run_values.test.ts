// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { type Field, parseField } from "./fields";
import { fitCell, fullCell } from "./run_values";
import type { Run } from "./wire";

const run = {
  hparams: { lr: -0.0000123456, name: "a long name" },
  tags: {},
  metrics: { loss: { count: 1, last: { value: -0.0451234567, step: "9007199254740993" } } },
  bytes: 123456789,
  attempts: [],
  notes: [],
} as unknown as Run;
const field = (name: string) => parseField(name) as Field;
const shown = (name: string, letters: number) => fitCell(run, field(name), 0, (text) => text.length <= letters);

test("numbers lose digits where there is no room, texts and sizes do not", () => {
  expect(shown("metrics.loss", 20)).toBe("−0.045123");
  expect(shown("metrics.loss", 7)).toBe("−0.0451");
  expect(shown("metrics.loss.step", 8)).toBe("9.007e15");
  expect(shown("hparams.lr", 7)).toBe("−1.2e-5");
  expect(shown("hparams.name", 4)).toBe("a long name");
  expect(shown("bytes", 4)).toBe("118 MiB");
  expect(fullCell(run, field("metrics.loss"))).toBe("-0.0451234567");
});
