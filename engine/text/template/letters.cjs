// Characters of Python's texts: their case, and to which kinds they belong.
const { characters, fail } = require('./values.cjs');

const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORDS = new RegExp(`[^${SPACE}]+`, 'g');
const ONE_SPACE = new RegExp(`^[${SPACE}]$`);
/** Letters whose title case is neither of the other two (Unicode, Lt). */
const TITLED = { ǆ: 'ǅ', Ǆ: 'ǅ', ǉ: 'ǈ', Ǉ: 'ǈ', ǌ: 'ǋ', Ǌ: 'ǋ', ǳ: 'ǲ', Ǳ: 'ǲ' };
/** Digits that are no decimal ones (Unicode, Numeric_Type=Digit, of the first planes). */
const DIGITS = '²³¹⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒፩-፱᧚\\u{1f100}-\\u{1f10a}';

const upper = (text) => text.toUpperCase();
const lower = (text) => text.toLowerCase();

function titleCase(letter) {
  const [first, ...others] = characters(TITLED[letter] ?? upper(letter));
  return first + lower(others.join(''));
}

const capitalize = (text) => {
  const [first, ...others] = characters(text);
  return first === undefined ? '' : titleCase(first) + lower(others.join(''));
};
const CASED = /[\p{Lowercase}\p{Uppercase}\p{Lt}]+/gu;
const title = (text) => text.replaceAll(CASED, capitalize);
const isUpper = (text) => /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
const isLower = (text) => /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
const isTitle = (text) =>
  CASED[Symbol.match](text) !== null &&
  [...text.matchAll(CASED)].every(([word]) => /^[\p{Uppercase}\p{Lt}]\p{Lowercase}*$/u.test(word));
const all = (pattern) => (text) => pattern.test(text);

/** By name: whether a text's characters are all of a kind. */
const KINDS = {
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isalpha: all(/^\p{L}+$/u),
  isascii: all(/^[\0-\x7f]*$/),
  isdecimal: all(/^\p{Nd}+$/u),
  isdigit: all(new RegExp(`^[\\p{Nd}${DIGITS}]+$`, 'u')),
  isidentifier: all(/^[\p{XID_Start}_]\p{XID_Continue}*$/u),
  islower: isLower,
  isnumeric: (text) =>
    /\p{Script=Han}/u.test(text) ? fail('isnumeric of Chinese characters is not supported') : /^\p{N}+$/u.test(text),
  isprintable: (text) => !/[\p{C}\p{Z}]/u.test(text.replaceAll(' ', '')),
  isspace: all(new RegExp(`^[${SPACE}]+$`)),
  istitle: isTitle,
  isupper: isUpper,
};

/** Strips characters, white space unless some are given. */
function strip(text, chars, sides) {
  const set = chars === undefined || chars === null ? undefined : new Set(characters(chars));
  const isStripped = (letter) => (set === undefined ? ONE_SPACE.test(letter) : set.has(letter));
  const letters = characters(text);
  let [from, to] = [0, letters.length];
  if (sides !== 'right') while (from < to && isStripped(letters[from])) from++;
  if (sides !== 'left') while (to > from && isStripped(letters[to - 1])) to--;
  return letters.slice(from, to).join('');
}

/** A text whose decimal digits of any script are those of ASCII. */
function withAsciiDigits(text) {
  return text.replaceAll(/(?![0-9])\p{Nd}/gu, (letter) => {
    const code = letter.codePointAt(0);
    let first = code;
    // Digits of a script follow each other; scripts next to each other have ten each.
    while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
    return String((code - first) % 10);
  });
}

module.exports = { capitalize, isLower, isUpper, KINDS, lower, strip, title, upper, withAsciiDigits, WORDS };
