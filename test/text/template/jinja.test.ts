import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startTemplateProcess, TemplateError } from '../../../engine/text/template-process.ts';

interface Group {
  readonly values: Readonly<Record<string, unknown>>;
  /** Templates, and what Python writes. */
  readonly cases: readonly (readonly [template: string, written: string | null])[];
}

const { groups } = JSON.parse(readFileSync('test/text/template/jinja.json', 'utf8')) as { groups: readonly Group[] };
const templates = startTemplateProcess();
test.after(() => templates.close());

/** A template's text, or the reason why it writes none. */
async function written(template: string, values: Group['values']): Promise<{ text: string } | { refused: string }> {
  try {
    return { text: await templates.render(template, values) };
  } catch (error) {
    assert.instance(error, TemplateError);
    return { refused: (error as Error).message };
  }
}

for (const [number, { values, cases }] of groups.entries())
  test(`what Python writes, ${number + 1}`, async () => {
    for (const [template, wanted] of cases) {
      const found = await written(template, values);
      if (wanted === null) assert.ok('refused' in found, template);
      else assert.equal(found, { text: wanted }, template);
    }
  });

interface Interpreter {
  readonly parse: (source: string) => readonly unknown[];
  readonly run: (statements: readonly unknown[], values: unknown) => string;
  readonly fromJson: (value: unknown) => unknown;
}
interface FromPython {
  readonly values: Readonly<Record<string, unknown>>;
  readonly cases: Group['cases'];
  /** Templates that Python renders and Hearth refuses by line. */
  readonly refused: readonly string[];
}

const require = createRequire(import.meta.url);
const interpreter: Interpreter = Object.assign(
  {},
  ...['parser', 'interpreter', 'values'].map((part) => require(`../../../engine/text/template/${part}.cjs`) as object),
);
const fromPython = JSON.parse(readFileSync('test/text/template/jinja-python.json', 'utf8')) as FromPython;

/** A template's text; `null` for one that is refused by line. */
function inProcess(template: string): string | null {
  try {
    return interpreter.run(interpreter.parse(template), interpreter.fromJson(fromPython.values));
  } catch (error) {
    if (!('line' in (error as object))) throw error;
    // raise_exception declares the whole reason, which has no line.
    assert.ok((error as { line?: number | null }).line !== undefined, template);
    return null;
  }
}

test('thousands of constructs and drawn compositions of them are as Python writes or refuses them', () => {
  assert.ok(fromPython.cases.length > 5000);
  const wrong = fromPython.cases.filter(([template, wanted]) => inProcess(template) !== wanted);
  assert.equal(wrong, []);
});

test('constructs that are not carried out are refused by line', () => {
  for (const template of fromPython.refused) assert.is(inProcess(template), null, template);
});

const REFUSED: readonly (readonly [template: string, reason: string])[] = [
  ['a\n{{ x.y }}', "line 2: 'x' is undefined"],
  ['{% if a %}\n\n{{ 1 + "a" }}{% endif %}', "line 3: unsupported operand type(s) for +: 'int' and 'str'"],
  ["{{ 'a' |\n nothing }}", "line 2: No filter named 'nothing'."],
  ['\n{% include "x" %}', 'line 2: the tag "include" is not known here'],
  ['{% for a in b %}\n', 'line 1: the template ends where endfor or else is needed'],
  ['{{ range(10**9) }}', 'line 1: a range of 1000000000 items is too long; at most 100000 are allowed'],
  ['{{ a', 'line 1: a variable has no end'],
  ['{% endif %}', 'line 1: unexpected "endif"'],
  ["\n{{ raise_exception('not here') }}", 'not here'],
  [
    "{{ 'a\tb'.expandtabs(10 ** 9) }}",
    'line 1: tabs of 1000000000 characters are too wide; at most 1048576 are allowed',
  ],
  ['{{ 10 ** 100000000000 }}', 'line 1: an int of about 400000000000 bits is too large'],
];

for (const [template, reason] of REFUSED)
  test(`refused with its line: ${template.trim().slice(0, 40)}`, async () => {
    assert.equal(await written(template, { a: [1], b: [1] }), { refused: reason });
  });

test.run();
