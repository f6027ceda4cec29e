import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../engine/input/input-error.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { randomPlans } from '../support/random-plan.ts';

const WRITTEN = `{
  "rounds": 1,
  "stages": [
    { "device": "pc", "processor": "gpu", "from": 0, "to": 20 },
    { "device": "phone", "processor": "cpu", "from": 20, "to": 32 }
  ],
  "embedding": { "device": "pc", "processor": "cpu" },
  "output": { "device": "pc", "processor": "gpu" },
  "weights": { "phone": { "prefetch": "willneed" } },
  "kvCache": "host"
}`;

test('a plan written by hand is parsed', () => {
  assert.equal(parsePlan(WRITTEN, 'my.json'), {
    kind: 'ring',
    scheduler: 'hand',
    rounds: 1,
    stages: [
      { device: 'pc', processor: 'gpu', from: 0, to: 20 },
      { device: 'phone', processor: 'cpu', from: 20, to: 32 },
    ],
    embedding: { device: 'pc', processor: 'cpu' },
    output: { device: 'pc', processor: 'gpu' },
    weights: { phone: { prefetch: 'willneed', release: 'none' } },
    kvCache: 'host',
  });
});

test('a plan without prefetching may omit weights', () => {
  const text = WRITTEN.replace(/"weights".*\n/, '');
  assert.equal(parsePlan(text, 'my.json').weights, {});
});

test('the kind of a plan follows from its stages and may be given', () => {
  const written = JSON.parse(WRITTEN);
  const kindOf = (given: object): string => {
    try {
      return parsePlan(JSON.stringify({ ...written, ...given }), 'my.json').kind;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const onPc = { device: 'pc', processor: 'cpu', from: 0, to: 32 };
  const streamed = [{ device: 'pc', processor: 'gpu', from: 0, to: 32, streamed: 'in-turn' }];
  const cut = [{ ...onPc, cut: [{ device: 'pc', share: 1 }] }];
  assert.is(kindOf({ kind: 'ring' }), 'ring');
  assert.is(kindOf({ stages: [onPc] }), 'split');
  assert.is(kindOf({ stages: streamed }), 'split');
  assert.is(kindOf({ stages: [onPc], relays: [{ from: 'pc', to: 'phone', via: ['old'] }] }), 'ring');
  assert.is(kindOf({ stages: cut, allReduce: 'star' }), 'tensor-parallel');
  assert.is(
    kindOf({ kind: 'ring', stages: cut }),
    'my.json: kind: is "ring"; its stages make it a plan of kind "tensor-parallel": remove it',
  );
  assert.match(kindOf({ kind: 'rign' }), /my.json: kind: unknown "rign"; did you mean "ring"/);
  assert.match(
    kindOf({ stages: cut, relays: [{ from: 'pc', to: 'phone', via: ['old'] }] }),
    /relays: devices that share a cut send to each other/,
  );
});

test('any plan survives writing and reading', () => {
  const property = fc.property(randomPlans(), ({ rounds, windows, outputProcessor }) => {
    const plan = ringPlan({ scheduler: 'random', head: windows[0]?.device ?? '', rounds, windows, outputProcessor });
    assert.equal(parsePlan(JSON.stringify(plan), 'random.json'), plan);
  });
  fc.assert(property, { numRuns: 200, seed: 21 });
});

const messageOf = (text: string): string => {
  try {
    parsePlan(text, 'my.json');
  } catch (error) {
    assert.instance(error, InputError);
    return (error as InputError).message;
  }
  return 'parsed';
};

test('mistakes are reported with file and place', () => {
  const cases: [from: string, to: string, message: RegExp][] = [
    ['"kvCache"', '"kvcache"', /^my\.json: kvCache: is missing; .*found "kvcache"/],
    ['"host"', '"hots"', /^my\.json: kvCache: unknown "hots"; did you mean "host"\?$/],
    [
      '"processor": "cpu", "from": 20',
      '"processor": "npu", "from": 20',
      /^my\.json: stages\[1\]\.processor: unknown "npu"/,
    ],
    ['"from": 20', '"from": -1', /^my\.json: stages\[1\]\.from: a whole number between 0 and 4096 is needed, not -1$/],
    ['"rounds": 1', '"rounds": 1, "round": 2', /^my\.json: round: unknown key; did you mean "rounds"\?$/],
    ['"prefetch": "willneed"', '"prefetch": "willneed", "pin": 1', /^my\.json: weights\.phone\.pin: unknown key/],
    ['"stages": [', '"stages": [ 7,', /^my\.json: stages\[0\]: an object \{ … \} is needed, not 7$/],
    ['"to": 20', '"to": 20, "cut": [{ "device": "pc" }]', /^my\.json: stages\[0\]\.cut\[0\]\.share: is missing/],
    ['"to": 20', '"to": 20, "streamed": "inturn"', /streamed: unknown "inturn"; did you mean "in-turn"\?$/],
    ['"rounds": 1', '"rounds": 1, "relays": "phone"', /^my\.json: relays: a list \[ … \] is needed, not "phone"$/],
    ['"rounds": 1,', '"rounds": 1', /^my\.json: line \d+, column \d+: is not valid JSON/],
  ];
  for (const [from, to, message] of cases) assert.match(messageOf(WRITTEN.replace(from, to)), message);
});

test.run();
