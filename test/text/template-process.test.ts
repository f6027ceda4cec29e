import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startTemplateProcess, TEMPLATE_BOUNDS, TemplateError } from '../../engine/text/template-process.ts';
import { CHAT_TEMPLATES } from './chat-templates.ts';

async function render(source: string, values: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const process = startTemplateProcess();
  try {
    return await process.render(source, values);
  } finally {
    process.close();
  }
}

/** Seconds until a template is refused, and the reason. */
async function refusal(source: string): Promise<{ readonly kind: string; readonly reason: string; seconds: number }> {
  const start = performance.now();
  try {
    const text = await render(source);
    return { kind: 'text', reason: text.slice(0, 20), seconds: 0 };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { kind: error.kind, reason: error.message, seconds: (performance.now() - start) / 1000 };
  }
}

const VALUES = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Yes?' },
    { role: 'user', content: '2 < 3 & "ä" {{ bos_token }}' },
  ],
  add_generation_prompt: true,
  bos_token: '<s>',
  eos_token: '</s>',
};

for (const [family, { source, prompt }] of Object.entries(CHAT_TEMPLATES))
  test(`${family}: the prompt is that of the model's training`, async () => {
    assert.is(await render(source, VALUES), prompt);
  });

/** Doubles a value of a namespace `times` times. */
const doubled = (value: string, times: number, then: string): string =>
  `{% set ns = namespace(v=${value}) %}{% for i in range(${times}) %}{% set ns.v = ns.v + ns.v %}{% endfor %}${then}`;

/** Memory on a machine that has nothing else to do, within a second or two. */
const TIME_OR_MEMORY = /^it (takes longer than 5 s|needs more than 128 MiB of memory)$/;

const HOSTILE: readonly [string, string, RegExp][] = [
  ['a list doubled', doubled('[1]', 40, '{{ ns.v|length }}'), TIME_OR_MEMORY],
  // V8 ends the whole process here, regardless of a thread's bounds.
  ['a text split', doubled("'xy'", 26, "{{ ns.v.split('x')|length }}"), TIME_OR_MEMORY],
  [
    'loops in loops',
    '{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% endfor %}',
    /^it takes longer than 5 s$/,
  ],
  [
    'a value that holds itself twice, sixty times',
    '{% set ns = namespace(v=[1]) %}{% for i in range(60) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}{{ ns.v|tojson }}',
    TIME_OR_MEMORY,
  ],
  ['a long text', doubled("'x'", 24, '{{ ns.v }}'), /^it writes 16777216 characters; at most 262152 are read$/],
  ['a long indent', '{{ [1]|tojson(indent=500000000) }}', /^it writes 500000005 characters; at most 262152 are read$/],
  [
    'a long source',
    'x'.repeat(TEMPLATE_BOUNDS.source + 1),
    /^its source has 262145 characters; at most 262144 are read$/,
  ],
];

for (const [what, source, reason] of HOSTILE)
  test(`${what} is refused within the bound, with a reason`, async () => {
    const found = await refusal(source);
    assert.is(found.kind, 'unbounded', found.reason);
    assert.match(found.reason, reason);
    assert.ok(found.seconds < TEMPLATE_BOUNDS.answerSeconds, `${found.seconds} s`);
  });

test('a text beyond the limit of strings and infinite recursion are mistakes of the template', async () => {
  const long = await refusal(doubled("'xy'", 40, '{{ ns.v }}'));
  assert.equal([long.kind, long.reason], ['refused', 'Invalid string length']);
  const deep = await refusal('{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}');
  assert.equal([deep.kind, deep.reason], ['refused', 'Maximum call stack size exceeded']);
});

test('a long conversation may have a long prompt', async () => {
  const content = 'word '.repeat(2 ** 17);
  assert.is(await render('{{ content }}{{ content }}', { content }), content + content);
});

test('one process renders many texts, of several templates, and another follows it where a template ended it', async () => {
  const process = startTemplateProcess();
  try {
    for (const name of ['a', 'b\u2028\n"', 'x'.repeat(2 ** 18)])
      for (const source of ['{{ name }}', '{% set ns.kept = name %}{{ name }}!'])
        assert.is(
          await process.render(`{% set ns = namespace() %}${source}`, { name }),
          source.endsWith('!') ? `${name}!` : name,
        );
    // Nothing of a text is there for the next one.
    await process.render('{% set kept = 1 %}{{ kept }}', {});
    assert.is(await process.render('{{ kept is defined }}', {}), 'False');
    for (const hostile of ["{% set ns = namespace(v='xy') %}{% for i in range(40) %}", '{{ nothing() }}'])
      await process.render(hostile, {}).catch((error) => assert.instance(error, TemplateError));
    const memory = await process.render(doubled("'xy'", 26, "{{ ns.v.split('x')|length }}"), {}).catch(String);
    assert.match(memory, /it (takes longer than 5 s|needs more than 128 MiB of memory)$/);
    assert.is(await process.render('{{ 1 + 1 }}', {}), '2');
  } finally {
    process.close();
  }
});

test('a closed process refuses to render at once', async () => {
  const process = startTemplateProcess();
  process.close();
  const reason = await process.render('x', {}).then(String, (error: Error) => error.message);
  assert.is(reason, 'its process ended with SIGKILL');
});

test.run();
