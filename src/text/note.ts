export const LONGEST_NOTE = 500;

export function foldedNote(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
