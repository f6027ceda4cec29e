/**
 * The name of a chart's files: its title and, where the reader chooses among several figures, the label of one, in small
 * letters with hyphens.
 */
export function figureName(title: string, label = ''): string {
  const words = `${title} ${label}`
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['chart'];
  return words.join('-').slice(0, LONGEST);
}

/** Letters; file systems take 255 bytes. */
const LONGEST = 100;
