import type { CountWork } from '../short-work.ts';
import { createExpressions } from './expression.ts';
import { parsePattern } from './parse-pattern.ts';
import { type TextSteps, textSteps } from './text-states.ts';

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`;
const GROUP = '[0-9a-fA-F]{1,4}';
/** All groups, or zeros left out at one place. */
const IPV6 = [
  `(?:${GROUP}:){7}${GROUP}`,
  ...[1, 2, 3, 4, 5, 6].map((count) => `(?:${GROUP}:){1,${7 - count}}(?::${GROUP}){1,${count}}`),
  `::(?:${GROUP}:){0,5}${GROUP}`,
  `(?:${GROUP}:){1,6}:`,
  '::',
].join('|');
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?';
const HOST = '[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*';
const EMAIL = `[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:${LABEL}\\.)+[A-Za-z]{2,24}`;
const LEAP = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE = `(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|${LEAP}-02-29)`;
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const TIME = `${CLOCK}:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-]${CLOCK})`;
const IN_PATH = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
const PATH = `(?:/${IN_PATH}*)*`;
const PATH_FROM_ROOT = `(?:/${IN_PATH}*)+`;
const AFTER_PATH = `(?:\\?(?:${IN_PATH}|[/?])*)?(?:#(?:${IN_PATH}|[/?])*)?`;
const URI = `(?:[A-Za-z][A-Za-z0-9+.-]*://(?:${HOST}|${IPV4})(?::\\d{1,5})?${PATH}${AFTER_PATH}|file://${PATH}|mailto:${EMAIL}|urn:[a-z0-9]{2,31}:${IN_PATH}+)`;
const LITERAL = '(?:[A-Za-z0-9 _,:;=@#%&~<>\'"!/-]|\\\\[dDwWsS.*+?^$()[\\]{}|\\\\/])';
const MATCHED = `(?:${LITERAL}|\\.|\\[\\^?(?:[A-Za-z0-9 _]|A-Z|a-z|0-9|\\\\[dws])+\\])(?:[*+?]|\\{\\d{1,2}\\})?`;
const REGEX = `\\^?(?:${MATCHED}|\\((?:\\?:)?${MATCHED}(?:${MATCHED})*(?:\\|${MATCHED}(?:${MATCHED})*)*\\)[*+?]?)*\\$?`;

/**
 * Formats of texts (JSON schema, Validation, section 7.3) as patterns of whole texts. Each text of a pattern has the
 * format; not every text of the format is one of the pattern.
 */
export const TEXT_FORMATS: Readonly<Record<string, string>> = {
  date: `^${DATE}$`,
  time: `^${TIME}$`,
  'date-time': `^${DATE}T${TIME}$`,
  duration: '^P(?:\\d{1,6}[YMWD]|T\\d{1,6}[HMS])$',
  uuid: '^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  email: `^${EMAIL}$`,
  uri: `^${URI}$`,
  url: `^https?://(?:[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20})?\\.)+[A-Za-z]{2,24}(?::\\d{2,5})?(?:${PATH_FROM_ROOT}${AFTER_PATH})?$`,
  'uri-reference': `^(?:${URI}|(?:/${IN_PATH}+)+${AFTER_PATH})$`,
  hostname: `^${LABEL}(?:\\.${LABEL}){0,5}$`,
  ipv4: `^${IPV4}$`,
  ipv6: `^(?:${IPV6})$`,
  regex: `^${REGEX}$`,
};

/** Steps of work for one of them, which is done once. */
const MOST_STEPS = 2 ** 16;
const known = new Map<string, TextSteps>();

/** The texts of a format. @param countWork called with the steps that this takes */
export function formatSteps(format: string, countWork: CountWork): TextSteps {
  // Half counts, since the steps of a format are kept.
  const expressions = createExpressions(MOST_STEPS, (steps) => countWork(steps / 2));
  const pattern = TEXT_FORMATS[format] as string;
  const steps = known.get(format) ?? (textSteps(expressions, parsePattern(expressions, pattern)) as TextSteps);
  known.set(format, steps);
  return steps;
}

/** Formats of numbers, which say how many bits hold them. */
export const NUMBER_FORMATS = ['int32', 'int64', 'uint32', 'uint64', 'float', 'double', 'int', 'uint'];
