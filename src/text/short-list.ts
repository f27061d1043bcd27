/** The first names and the number of the others: `a, b, 3 more`. */
export function shortList(names: readonly string[], most: number, between = ', ', last = between): string {
  const more = names.length - most;
  return names.slice(0, most).join(between) + (more > 0 ? `${last}${more} more` : '');
}
