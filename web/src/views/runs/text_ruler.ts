// SPDX-License-Identifier: Apache-2.0
// Whether a text is too wide for its place: only what is gets clipped, since every clip costs a part of every frame.
const SPARE = 4; // pixels: a canvas knows nothing of digits that are all of one width
const LONGEST = 150; // letters, more than any column has room for

export class TextRuler {
  private readonly ruler = document.createElement("canvas").getContext("2d");

  /** For texts in the page's own font, of this weight. */
  constructor(weight: number) {
    const { fontSize, fontFamily } = getComputedStyle(document.body);
    if (this.ruler) this.ruler.font = `${weight} ${fontSize} ${fontFamily}`;
  }

  /** True when in doubt. */
  isExceeded(text: string, pixels: number): boolean {
    if (!this.ruler || text.length > LONGEST) return true;
    return this.ruler.measureText(text).width + SPARE > pixels;
  }
}
