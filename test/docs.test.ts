import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUANTIZATION_NAMES } from '../engine/model/quantization.ts';
import {
  IDLE_MILLISECONDS,
  LEAST_STRANGERS,
  MOST_WAITING,
  PATIENCE_SECONDS,
  STRANGERS,
} from '../engine/server/connections.ts';
import { MOST_MESSAGES } from '../engine/server/forms/parameters.ts';
import { MOST_PROMPTS } from '../engine/server/forms/prompts.ts';
import { MOST_TOOLS } from '../engine/server/forms/tools.ts';
import { BOUNDS } from '../engine/server/read-json.ts';
import { MOST_STATES } from '../engine/text/grammar/automaton.ts';
import { MOST_STEPS } from '../engine/text/grammar/patterns/expression.ts';
import { MOST_CHARACTERS, MOST_GROUPS } from '../engine/text/grammar/patterns/parse-pattern.ts';
import { MOST_DEPTH, MOST_SCHEMA_CHARACTERS } from '../engine/text/grammar/schema-bounds.ts';
import { LESSONS } from '../notebooks/lessons.ts';
import { frontPageResults } from './support/front-page.ts';
import { between, linesOf } from './support/tables-of-docs.ts';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];
/** Pages in other rooms. */
const PAGES_ELSEWHERE = ['datasets', 'experiments', 'library', 'test'].flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `${room}/${file}`),
);
const TOP = /^(engine|simulator|experiments|datasets|native|test|docs|bin|notebooks|library)\//;

for (const page of PAGES) {
  const text = readFileSync(page, 'utf8');
  // Skips what a reader types or creates: blocks of code, and names in capitals.
  const prose = text.replace(/```[\s\S]*?```/g, '');

  test(`${page}: every path exists`, () => {
    const paths = [...prose.matchAll(/`([^`\s]+)`/g)]
      .map(([, path]) => path as string)
      .filter((path) => TOP.test(path));
    const absent = paths.filter((path) => !/[{*<]|[A-Z]{3}|native\/build/.test(path) && !existsSync(path));
    assert.equal(absent, []);
  });

  test(`${page}: every link has a target`, () => {
    const links = [...prose.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link]) => link as string);
    const absent = links.filter((link) => !/^https?:/.test(link) && !existsSync(join(dirname(page), link)));
    assert.equal(absent, []);
  });
}

/** Paragraphs, items of lists and captions of a page, without tables, code and comments. */
function paragraphsOf(text: string): string[] {
  return text
    .replace(/```[\s\S]*?```|<!--[\s\S]*?-->/g, '\n\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=[|#])/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '' && !paragraph.startsWith('|'));
}

const LONGEST_WORDS = 90;
for (const page of [...PAGES, 'CHANGELOG.md', ...PAGES_ELSEWHERE]) {
  test(`${page}: no paragraph has more than ${LONGEST_WORDS} words`, () => {
    const long = paragraphsOf(readFileSync(page, 'utf8')).filter((one) => one.split(/\s+/).length > LONGEST_WORDS);
    assert.equal(
      long.map((paragraph) => paragraph.slice(0, 80)),
      [],
    );
  });
}

/** Text that is read, without code, addresses and comments. */
const readText = (page: string): string =>
  readFileSync(page, 'utf8').replace(/```[\s\S]*?```|`[^`\n]*`|<!--[\s\S]*?-->|\]\([^)]*\)/g, '');

for (const page of [...PAGES, 'CHANGELOG.md', ...PAGES_ELSEWHERE]) {
  test(`${page}: apostrophes are of one kind, and nothing is “beside” another`, () => {
    const found = readText(page).match(/.{0,30}(\w'\w|\ws' |\bbeside\b).{0,20}/gi) ?? [];
    assert.equal(found, []);
  });
}

/** Figures that were timed: milliseconds, rates, and ratios of times. Units in quotation marks are examples of input. */
const TIMING = /\d ?(ms|µs|tokens\/s|GFLOP\/s|GB\/s)\b|× ?\d|\d ×|\d times as (fast|long)/;
for (const page of PAGES.filter((one) => one !== 'README.md' && !one.startsWith('docs/measurements/'))) {
  test(`${page}: timings stand in docs/measurements`, () => {
    const prose = paragraphsOf(readFileSync(page, 'utf8').replace(/"[^"\n]*"|`[^`\n]*`/g, ''));
    assert.equal(
      prose.filter((paragraph) => TIMING.test(paragraph)).map((paragraph) => paragraph.slice(0, 120)),
      [],
    );
  });
}

/** Anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page: string): Set<string> {
  const headings = readFileSync(page, 'utf8').match(/^#+ .*$/gm) ?? [];
  const plain = headings.map((line) => line.replace(/^#+ /, '').toLowerCase());
  return new Set(plain.map((line) => line.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')));
}

for (const page of PAGES) {
  test(`${page}: every anchor exists`, () => {
    const prose = readFileSync(page, 'utf8').replace(/```[\s\S]*?```/g, '');
    const absent = [...prose.matchAll(/\]\(([^)#\s]*)#([^)]+)\)/g)]
      .map(([, file = '', anchor = '']) => ({ target: file === '' ? page : join(dirname(page), file), anchor }))
      .filter(({ target }) => target.endsWith('.md') && !target.includes('://'))
      .filter(({ target, anchor }) => !existsSync(target) || !anchorsOf(target).has(anchor));
    assert.equal(absent, []);
  });
}

test('README.md is at most 90 lines, and none of its tables has more than eight rows', () => {
  const lines = readFileSync('README.md', 'utf8').trimEnd().split('\n');
  assert.ok(lines.length <= 90, `${lines.length} lines`);
  const tables = lines.join('\n').match(/(^\|.*\n)+/gm) ?? [];
  assert.ok(tables.length > 0);
  for (const table of tables) assert.ok(table.trimEnd().split('\n').length - 2 <= 8, table.slice(0, 60));
});

test('the results of README.md are those on record; npm run renew:figures', () => {
  assert.equal(linesOf(between(readFileSync('README.md', 'utf8'), 'results')), linesOf(frontPageResults().join('\n')));
});

/** Rows of a table whose third cell is a file and whose fourth are names in it. */
const named = readFileSync('docs/explanation/equations.md', 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, , file, names] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return file === undefined || !file.startsWith('`') ? [] : [{ file: file.replaceAll('`', ''), names: names ?? '' }];
  });

test('every equation is in the file that docs/explanation/equations.md names', () => {
  assert.ok(named.length > 50);
  const absent = named.flatMap(({ file, names }) => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return [...names.matchAll(/`(\w+)`/g)]
      .map(([, name]) => name as string)
      .filter((name) => !new RegExp(`(function\\*?|const|class|interface|type|void|void attend) ${name}\\b`).test(text))
      .map((name) => `${file}: ${name}`);
  });
  assert.equal(absent, []);
});

test('docs/explanation/equations.md lists equations 1–41 of prima.cpp and 4.1–4.20 of HELM', () => {
  const [prima = '', helm = ''] = readFileSync('docs/explanation/equations.md', 'utf8').split('## HELM');
  const covered = (text: string, prefix: string): Set<number> => {
    const numbers = new Set<number>();
    const pattern = new RegExp(`\\b${prefix}(\\d+)(?:–${prefix}(\\d+))?`, 'g');
    for (const line of text.split('\n')) {
      const cell = line.split('|')[1] ?? '';
      if (!/Eqs?\./.test(cell)) continue;
      for (const [, from, to = from] of cell.matchAll(pattern))
        for (let number = Number(from); number <= Number(to); number++) numbers.add(number);
    }
    return numbers;
  };
  const lacking = (numbers: Set<number>, last: number): number[] =>
    Array.from({ length: last }, (_, index) => index + 1).filter((number) => !numbers.has(number));
  assert.equal(lacking(covered(prima, ''), 41), []);
  assert.equal(lacking(covered(helm, '4\\.'), 20), []);
});

test('of the papers’ features at most eight are missing or only modelled, and each of these has its reason', () => {
  const text = readFileSync('docs/reference/papers-features.md', 'utf8');
  const rows = [...text.matchAll(/^\| +(\d+) \|[^|]*\| (\w) +\|/gm)].map(([, number, state]) => ({ number, state }));
  assert.is(rows.length, 54);
  const open = rows.filter(({ state }) => state === 'X' || state === 'M').map(({ number }) => number);
  assert.ok(open.length <= 8, `${open}`);
  const [, reasons = ''] = /^Eight rows are missing or modelled only\.(.*)$/m.exec(text) ?? [];
  const named = [...reasons.matchAll(/\((\d+)\)/g)].map(([, number]) => number);
  assert.equal(named.toSorted(), open.toSorted());
});

test('docs/how-to/teach.md has every lesson, with its minutes', () => {
  const rows = readFileSync('docs/how-to/teach.md', 'utf8').split('\n');
  for (const { title, minutes } of LESSONS) {
    const row = rows.find((line) => line.startsWith(`| ${title} `));
    assert.is(row?.split('|')[2]?.trim(), String(minutes), title);
  }
});

test('docs/how-to/run-a-model.md names every format of weights', () => {
  const [, list = ''] =
    /\*\*Formats\.\*\* Tensors may be in ([^.]*?), mixed/.exec(readFileSync('docs/how-to/run-a-model.md', 'utf8')) ??
    [];
  assert.equal(list.split(/, | and /), QUANTIZATION_NAMES);
});

test("docs/reference/security.md has the server's bounds", () => {
  const bounds: readonly (readonly [what: string, value: string])[] = [
    ['connections of strangers', `${{ 0.25: 'a quarter' }[STRANGERS]} as many, and at least ${LEAST_STRANGERS}`],
    ['requests that a connection may send', whole(MOST_WAITING)],
    ['time to send a request whole', `${PATIENCE_SECONDS} s`],
    ['time of a connection between requests', `${IDLE_MILLISECONDS / 1000} s`],
    ['levels of JSON', whole(BOUNDS.levels)],
    ['lists, objects and names', whole(BOUNDS.parts)],
    ['items and properties', whole(BOUNDS.values)],
    ['messages of a conversation', whole(MOST_MESSAGES)],
    ['prompts of a request', whole(MOST_PROMPTS)],
    ['tools of a request', whole(MOST_TOOLS)],
    ['characters of a schema', whole(MOST_SCHEMA_CHARACTERS)],
    ['levels of a schema', whole(MOST_DEPTH)],
    ['states and steps', whole(MOST_STATES)],
    ['steps of its patterns', whole(MOST_STEPS)],
    ['characters of a pattern', whole(MOST_CHARACTERS)],
    ['levels of groups', whole(MOST_GROUPS)],
  ];
  const rows = readFileSync('docs/reference/security.md', 'utf8').split('\n');
  for (const [what, value] of bounds) {
    const row = rows.find((line) => line.startsWith(`| ${what}`));
    assert.is(row?.split('|')[2]?.trim(), value, what);
  }
});

function whole(count: number): string {
  return count.toLocaleString('en');
}

test.run();
