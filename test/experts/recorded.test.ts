import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRoutings } from '../../engine/experts/recorded/parse-routings.ts';
import type { Routing } from '../../engine/experts/routing.ts';

/** Three decoded tokens in two layers with experts, which a model's layers 1 and 3 are. */
const TOKENS = [
  [
    [4, 1],
    [0, 2],
  ],
  [
    [1, 3],
    [2, 5],
  ],
  [
    [3, 4],
    [5, 0],
  ],
] as const;
const LAYERS = [1, 3];

const routed = (experts: number): Routing => {
  return { tokens: 3, layers: 2, experts, used: 2, chosen: Uint16Array.from(TOKENS.flat(2)) };
};
const read = (text: string, file = 'folder/a.trace.csv'): [string, Routing][] => [...parseRoutings(text, file)];
const rowsOf = (line: (token: number, layer: number, experts: readonly number[]) => string[]): string[] =>
  TOKENS.flatMap((layers, token) => layers.flatMap((experts, at) => line(token, LAYERS[at] as number, experts)));

test('the forms of other recorders are read; prompts are left out', () => {
  const routeTrace = [
    '# route_trace v1',
    '# model=m.gguf arch=qwen3moe n_layer=4 n_expert=8 n_expert_used=2',
    'turn,phase,step,layer,slot,expert,weight,residency,expert_bytes',
    ...['0,0,0,1,0,7,0.5,0,9', '0,0,0,1,1,6,0.5,0,9'],
    ...rowsOf((token, layer, experts) => experts.map((one, slot) => `0,1,${token},${layer},${slot},${one},0.5,1,0`)),
  ];
  assert.equal(read(routeTrace.join('\n')), [['a.trace', routed(8)]]);
  const byPosition = ['-2,1,7,6', '-1,1,6,7', ...rowsOf((token, layer, experts) => [`${token},${layer},${experts}`])];
  assert.equal(read(byPosition.join('\r\n')), [['a.trace', routed(6)]]);
  const prompt = ['1,7', '1,6', '1,5', '1,4', '3,1', '3,2', '3,3', '3,4'];
  const pairs = [...prompt, ...rowsOf((_, layer, experts) => experts.map((one) => `${layer},${one}`))];
  assert.equal(read(pairs.join('\n')), [['a.trace', routed(6)]]);
  const colibri = [
    ...['0 0 1 7:0.5 6:0.5', '0 1 1 5:0.5 4:0.5', '1 0 3 7:0.5 6:0.5', '1 1 3 5:0.5 4:0.5'],
    ...rowsOf((token, layer, experts) => [
      `${2 * token + LAYERS.indexOf(layer) + 2} 0 ${layer} ${experts.map((one) => `${one}:0.2500`).join(' ')}`,
    ]),
  ];
  assert.equal(read(`${colibri.join('\n')}\n`), [['a.trace', routed(6)]]);
  const waste = TOKENS.map((layers, token) => JSON.stringify({ tok: token + 1, layers }));
  assert.equal(read(waste.join('\n'), 'b.jsonl'), [['b', routed(6)]]);
});

test('a last token that was not written whole is left out', () => {
  const rows = [...rowsOf((token, layer, experts) => [`${token},${layer},${experts}`]), '3,1,4,5'];
  assert.equal(read(rows.join('\n')), [['a.trace', routed(6)]]);
});

test('what is wrong with a record is said by line or token', () => {
  const wrong: readonly [text: string, message: RegExp][] = [
    ['hello', /^r: is no record of routings; read are files of hearth routing, BigMoeOnEdge, llama-moe-trace, colibri/],
    ['# route_trace v1\nturn,phase,step,layer', /^r: line 2: has no column slot; needed: turn, phase, /],
    ['turn,phase,step,layer,slot,expert\n0,1,0,0,0,x', /^r: line 2: expert is "x"; it must be a whole number$/],
    ['turn,phase,step,layer,slot,expert\n0,1,0,0,1,4', /^r: line 2: slot is 1; 0 follows$/],
    ['turn,phase,step,layer,slot,expert\n0,0,0,0,0,4', /^r: has no token that was decoded$/],
    ['0,0,1,2\n0,1,3', /^r: token 0, layer 1: has 1 experts; the first token has 2$/],
    ['0,0,1,2\n0,0,3,4', /^r: has token 0 twice in layer 0$/],
    ['0,0,1,1', /^r: token 0, layer 0: has an expert twice$/],
    ['0,0,1,2\n1,1,1,2\n2,0,1,2', /^r: has no experts of token 0 in layer 1$/],
    ['0,0,1,99999', /^r: token 0, layer 0: has expert 99999; allowed: 0 up to 65534$/],
    ['0,0,1,2\n1', /^r: line 2: has no experts; needed: position,layer,expert,…$/],
    ['0 0 1 7:0.5\n0 0 2 7:0.5', /^r: line 2: call 0 is of layer 1, not 2$/],
    ['0 0 1 7:0.5\nend', /^r: line 2: is not "call row layer expert:weight …"$/],
    ['{"tok": 1, "layers": [[1]]}\n{"tok": 2}', /^r: line 2: is no token’s experts: layers is missing/],
  ];
  for (const [text, message] of wrong) assert.throws(() => parseRoutings(text, 'r'), message);
});

test.run();
