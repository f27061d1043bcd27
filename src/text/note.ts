export const LONGEST_NOTE = 500;

/** In one line, however it was folded. */
export function foldedNote(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
