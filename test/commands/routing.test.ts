import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import { expertsOf, type Routing, tokensOf } from '../../engine/experts/routing.ts';
import { routingText } from '../../engine/experts/write-routing.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { createChoiceRecorder, recordRouting } from '../../engine/runtime/load/record-routing.ts';
import { observedRoutes } from '../../engine/runtime/observed/observed-routes.ts';
import { goldenArchitecture, goldenArchitecturePath } from '../support/golden-architectures.ts';
import { goldenModel } from '../support/golden-models.ts';
import { hearthHere } from '../support/run-script.ts';

const test = suite('hearth routing');
let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
});
test.after(() => rmSync(folder, { recursive: true }));

test('what is recorded are the experts of double precision, in passes of any length', () => {
  const { tokens, routing } = goldenArchitecture('olmoe-F16');
  const expected = Object.values(routing?.experts ?? {});
  for (const together of [64, 7]) {
    const kernels = openKernels({ implementation: 'reference' });
    const recorded = recordRouting({ model: goldenArchitecturePath('olmoe-F16'), kernels, tokens, together });
    kernels.close();
    if (recorded === undefined) throw new Error('nothing was recorded');
    assert.equal([recorded.layers, recorded.experts, recorded.used], [3, 12, 3]);
    const found: Routing = { ...recorded, tokens: tokens.length };
    for (const [layer, ofTokens] of expected.entries())
      for (const [token, experts] of ofTokens.entries())
        assert.equal(
          [...expertsOf(found, token, layer)].sort((one, other) => one - other),
          experts,
        );
  }
});

test('choices of a text that is written are those of the text', () => {
  const { tokens } = goldenArchitecture('olmoe-F16');
  const model = goldenArchitecturePath('olmoe-F16');
  const kernels = openKernels({ implementation: 'reference' });
  const whole = recordRouting({ model, kernels, tokens, together: 64 }) as Omit<Routing, 'tokens'>;
  const recorder = createChoiceRecorder(whole.layers);
  const observed = observedRoutes(kernels, recorder.observe);
  const transformer = loadTransformer(model, { kernels: observed, context: tokens.length });
  assert.is(recorder.routing(), undefined);
  transformer.evaluate(tokens.slice(0, 4));
  for (const token of tokens.slice(4)) transformer.evaluate([token]);
  kernels.close();
  assert.equal(recorder.routing(), tokensOf({ ...whole, tokens: tokens.length }, 4, tokens.length));
});

test('a trace has the routing of a text, which can be replayed', async () => {
  const model = goldenArchitecturePath('olmoe-F16');
  const trace = join(folder, 'trace.json');
  const run = (...more: string[]) =>
    hearthHere('generate', '--model', model, '--prompt', 'a', '--tokens', '4', '--temperature', '0', ...more);
  const written = await run('--trace', trace);
  assert.is(written.code, 0, written.stderr);
  const [[, routing]] = [...parseRoutings(readFileSync(trace, 'utf8'), trace)] as [[string, Routing]];
  assert.equal([routing.tokens, routing.layers, routing.experts, routing.used], [3, 3, 12, 3]);
  const replayed = await run('--routing', trace);
  assert.is(replayed.code, 0, replayed.stderr);
  assert.match(replayed.stderr, /^experts are those of .*trace\.json/);
});

test('a text of more than 256 experts is read as it was written', () => {
  const chosen = Uint16Array.from([0, 511, 300, 255, 256, 7]);
  const routing = { tokens: 3, layers: 1, experts: 512, used: 2, chosen };
  assert.equal(parseRoutings(routingText('wide', routing), 'wide.json').get('wide'), routing);
});

test('the command writes the routing of a text, and refuses dense models, empty texts and files of others', async () => {
  const [text, empty, out] = ['text.txt', 'empty.txt', 'routing.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(text, 'Once upon a time there was an expert that was asked again and again.\n');
  writeFileSync(empty, '');
  const run = (model: string, file: string, ...more: string[]) =>
    hearthHere('routing', '--model', model, '--text', file, '--out', out, ...more);
  const model = goldenArchitecturePath('olmoe-F16');
  const written = await run(model, text, '--tokens', '40');
  assert.is(written.code, 0, written.stderr);
  assert.match(
    written.stderr,
    /routing\.json: 40 tokens, 3 layers, 3 of 12 experts; \d+ % are those of the token before/,
  );
  const [[, routing]] = [...parseRoutings(readFileSync(out, 'utf8'), out)] as [[string, Routing]];
  assert.equal([routing.tokens, routing.layers, routing.experts, routing.used], [40, 3, 12, 3]);
  for (const [given, message] of [
    [[model, text], /exists; give another path, or --force/],
    [[goldenModel('llama-F16'), text, '--force'], /has no experts; routing is recorded of mixtures alone/],
    [[model, empty, '--force'], /empty\.txt: is empty/],
    [[model, folder, '--force'], /: is a folder; give a file$/m],
  ] as const) {
    const [file, what, ...more] = given;
    const { code, stderr } = await run(file, what, ...more);
    assert.is(code, 2);
    assert.match(stderr, message);
    assert.is(stderr.trim().split('\n').length, 1);
  }
});

test.run();
