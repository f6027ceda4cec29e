import glossary from '../../docs/explanation/glossary.md?raw';

/** Terms of the glossary with their meanings, longer ones first. */
export const TERMS: readonly (readonly [term: string, meaning: string])[] = glossary
  .split('\n')
  .flatMap((line): [string, string][] => {
    const [, term = '', meaning = ''] = line.split('|').map((cell) => cell.trim());
    const isRow = term !== '' && meaning !== '' && !/^(-+|term)$/.test(term) && !term.includes('`');
    return isRow ? [[term, meaning.replaceAll('`', '')]] : [];
  })
  .sort(([one], [other]) => other.length - one.length);

/** Elements whose text is explained. */
const PROSE = 'main p';
/** Elements in which nothing is explained. */
const OUTSIDE = 'a, code, .told, .guess, figure, form, .term, [aria-live]';

/** Gives the first mention of each term in a page's prose its meaning, shown at the pointer and at the keyboard's focus. */
export function explainTerms(root: Document): void {
  const left = new Map(TERMS.map(([term, meaning]) => [term.toLowerCase(), meaning]));
  const pattern = new RegExp(`\\b(${TERMS.map(([term]) => term.replace(/[^\w ]/g, '\\$&')).join('|')})(?=s?\\b)`, 'gi');
  for (const paragraph of Array.from(root.querySelectorAll(PROSE))) {
    if (paragraph.closest(OUTSIDE) !== null) continue;
    const walker = root.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) texts.push(node as Text);
    for (const text of texts) if (text.parentElement?.closest(OUTSIDE) === null) explain(text, left, pattern);
  }
}

function explain(text: Text, left: Map<string, string>, pattern: RegExp): void {
  const found = Array.from(text.data.matchAll(pattern)).filter(([word]) => left.has(word.toLowerCase()));
  const first = found[0];
  const meaning = first === undefined ? undefined : left.get(first[0].toLowerCase());
  if (first === undefined || meaning === undefined) return;
  left.delete(first[0].toLowerCase());
  const rest = text.splitText(first.index);
  const after = rest.splitText(first[0].length);
  const term = document.createElement('span');
  const note = document.createElement('span');
  term.className = 'term';
  term.tabIndex = 0;
  note.setAttribute('role', 'tooltip');
  note.textContent = meaning;
  term.append(first[0], note);
  rest.replaceWith(term);
  explain(after, left, pattern);
}
