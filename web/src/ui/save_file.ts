// SPDX-License-Identifier: Apache-2.0
// Hands the person a file.

export function saveText(name: string, content: string, type: string): void {
  saveBlob(name, new Blob([content], { type }));
}

export function saveBlob(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A name of a file, from whatever something is called. */
export function fileName(text: string, ending: string): string {
  const plain = text.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "chart";
  return `${plain}.${ending}`;
}
