// Filters of text for pages and addresses: `striptags`, `xmlattr`, `urlencode`, `wordwrap` (jinja2 3.1, filters.py).
const { splitLines, whole } = require('./methods.cjs');
const { characters, escaped, fail, isMap, isTrue, iterate, str, Undefined } = require('./values.cjs');

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\xa0' };

/** A text without tags and comments, each run of white space as one space, with characters in place of entities. */
function entityText(text) {
  const bare = text.replaceAll(/<!--.*?-->/gs, '').replaceAll(/<.*?>/gs, '');
  const plain = bare.split(/\s+/).filter(Boolean).join(' ');
  return plain.replaceAll(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w+));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? fail(`the entity ${all} is not supported`);
    const code = Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10);
    return code > 0x1f && code < 0x7f ? String.fromCodePoint(code) : fail(`the entity ${all} is not supported`);
  });
}

function encoded(value) {
  const percent = (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(String(value)).replaceAll(/[!'()*]/g, percent);
}

/** A text in an address, where a slash stays. */
const inUrl = (text) => encoded(text).replaceAll('%2F', '/');
const inForm = (value) => encoded(str(value)).replaceAll('%20', '+');

/** Pairs as an address has them after its question mark. */
function inQuery(value) {
  const pairs = isMap(value) ? [...value] : [...iterate(value)].map((pair) => [...iterate(pair)]);
  return pairs
    .map((pair) => (pair.length === 2 ? `${inForm(pair[0])}=${inForm(pair[1])}` : fail('two values make a pair')))
    .join('&');
}

/** A dict as attributes of a tag; those that are none or missing are left out. */
function htmlAttributes(value, [hasSpace = true]) {
  if (!isMap(value)) fail('xmlattr needs a dict');
  const shown = [...value].filter(([, own]) => own !== null && !(own instanceof Undefined));
  const text = shown
    .map(([key, own]) => (/[\s/>=]/.test(key) ? fail(`Invalid character in attribute name: '${key}'`) : [key, own]))
    .map(([key, own]) => `${escaped(key)}="${escaped(own)}"`)
    .join(' ');
  return text !== '' && isTrue(hasSpace) ? ` ${text}` : text;
}

/** Lines of words up to a width. @throws TemplateFault for lines that Python would divide inside of words */
function wrapped(value, [width = 79n, , wrapString = '\n']) {
  const most = whole(width);
  const lines = splitLines(String(value), false).map((line) => {
    const found = [''];
    for (const word of line.split(/(\s+)/)) {
      if (/[^\p{L}\p{N}\s,.]/u.test(word) || characters(word).length > most)
        fail('wordwrap of words with hyphens or longer than a line is not supported');
      const now = found.at(-1) + word;
      if (characters(now.trimEnd()).length <= most) found[found.length - 1] = now;
      else found.push(word.trimStart());
    }
    return found.map((one) => one.trimEnd()).join(str(wrapString));
  });
  return lines.join(str(wrapString));
}

module.exports = { entityText, htmlAttributes, inQuery, inUrl, wrapped };
