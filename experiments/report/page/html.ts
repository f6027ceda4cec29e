/** Text as HTML text or attribute value. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Units after a number, longest first. */
const UNITS = [
  '[kKMGT]i?B(?:/s)?',
  '[KMGT]?FLOPS?',
  '[mµn]?s',
  'B(?:/s)?',
  '%',
  'pp',
  '[kMG]Hz',
  '[kMG]bit/s',
  '[mkM]?W',
  'J',
].join('|');
const NUMBER_AND_UNIT = new RegExp(`(\\d) (?=(?:${UNITS})(?![\\w/]))`, 'g');

/** Text as HTML text for people: no line breaks between a number and its unit. */
export function proseHtml(text: string): string {
  return escapeHtml(text.replace(NUMBER_AND_UNIT, '$1\u00a0'));
}

/** A program within a script element, which ends at the first `</script`, strings and comments included. */
export function scriptText(program: string): string {
  return program.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
}

/** JSON within a script element: no `<` is left, so nothing can end or comment the element. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
