import { SPACE_BEFORE_UNIT } from '../../../engine/input/format.ts';

/** Text as HTML text or attribute value. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Text as HTML text for people: no line breaks between a number and its unit. */
export function proseHtml(text: string): string {
  return escapeHtml(text.replaceAll(SPACE_BEFORE_UNIT, '\u00a0'));
}

/** A program for a script element, which would end at the first `</script`, even within a string. */
export function scriptText(program: string): string {
  return program.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
}

/** JSON for a script element: no `<` is left, so nothing can end the element or open a comment. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
