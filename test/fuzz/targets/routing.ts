import { parseRoutings } from '../../../engine/experts/recorded/parse-routings.ts';
import { replayRouting } from '../../../engine/experts/replay-routing.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { type Json, jsonText, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

const JSON_FORM: Json = {
  traces: {
    a: {
      layers: 2,
      experts: 4,
      topk: 2,
      promptTokens: 1,
      decodeTokens: 2,
      ids: btoa('\0\x01\x02\x03\x01\x02\x03\0\x02\x01\0\x03'),
    },
  },
};
/** Records of two tokens in other recorders' forms, line by line. */
const FORMS: readonly (readonly string[])[] = [
  [
    ...['# route_trace v1', '# model=m arch=qwen3moe n_layer=1 n_expert=8 n_expert_used=2'],
    ...['turn,phase,step,layer,slot,expert', '0,0,0,0,0,7', '0,0,0,0,1,6'],
    ...['0,1,1,0,0,5', '0,1,1,0,1,4', '0,1,2,0,0,3', '0,1,2,0,1,5'],
  ],
  ['-1,0,7,6', '-1,1,7,6', '0,0,1,2', '0,1,3,4', '1,0,2,3', '1,1,4,5'],
  ['0,7', '0,6', '0,5', '0,4', '1,1', '1,2', '1,3', '1,4', '0,1', '0,2', '1,3', '1,4'],
  ['0 0 0 7:0.5 6:0.5', '1 0 1 5:0.5 4:0.5', '2 0 0 1:0.25 2:0.75', '3 0 1 3:0.25 4:0.75'],
  ['{"tok": 1, "layers": [[1, 2], [3, 4]]}', '{"tok": 2, "layers": [[2, 3], [0, 5]]}'],
];

/** Records of routings in all forms. One that is accepted is run through a small cache. */
export function open(): FuzzTarget {
  const encoder = new TextEncoder();
  return {
    input(random) {
      const form = random.integer(0, FORMS.length);
      const lines = FORMS[form];
      let text = '';
      if (lines === undefined) {
        let json = JSON_FORM;
        for (let times = random.integer(0, 3); times > 0; times--) json = mutateJson(json, JSON_FORM, random);
        text = jsonText(json);
      } else {
        const own = [...lines];
        for (let times = random.integer(0, 3); times > 0; times--)
          own.splice(random.integer(0, own.length), random.integer(0, 1), random.pick(random.pick(FORMS)));
        text = own.join('\n');
      }
      const bytes = encoder.encode(text);
      return random.integer(0, 1) === 0 ? bytes : mutateBytes(bytes, encoder.encode('65535'), random);
    },
    read(input) {
      let kind = 'no routing';
      for (const routing of parseRoutings(new TextDecoder().decode(input), 'r.csv').values()) {
        if (routing.chosen.length > 1e6) continue;
        const eviction = { kind: 'lru' } as const;
        const { needs, hits } = replayRouting({
          ...{ routing, pool: 'layer', slots: 2, eviction: () => eviction, sparesNeeded: true, seed: 1, warmUp: 0 },
        });
        if (!(hits >= 0 && hits <= needs)) throw new Error(`${hits} of ${needs} needs are hits`);
        kind = 'a routing';
      }
      return kind;
    },
  };
}
