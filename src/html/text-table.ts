/** Texts that repeat, once each. */
export class TextTable {
  readonly texts: string[] = [];
  private readonly places = new Map<string, number>();

  placeOf(text: string): number {
    const known = this.places.get(text);
    if (known !== undefined) return known;
    this.places.set(text, this.texts.length);
    this.texts.push(text);
    return this.texts.length - 1;
  }
}
