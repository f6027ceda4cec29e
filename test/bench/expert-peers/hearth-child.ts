import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../../engine/runtime/load/load-transformer.ts';
import { processReadBytes } from '../../../engine/runtime/weights/process-counters.ts';
import type { ChildTask, Turn } from './turn.ts';

/** Evaluates a ChildTask as `hearth generate --memory` does, and prints a Turn as JSON. */
const { model, memory, threads, tokens, warmUp } = JSON.parse(process.argv[2] ?? '') as ChildTask;
const kernels = openKernels({ implementation: 'native', threads });
let used = 0;
const distinct = new Set<string>();
let isCounted = false;
const transformer = loadTransformer(model, {
  ...{ kernels, memory, context: tokens.length, warn: () => {} },
  onExperts: ({ layer, kind, experts }) => {
    if (!isCounted || kind !== 'need') return;
    used += experts.length;
    for (const expert of experts) distinct.add(`${layer} ${expert}`);
  },
});
let [begin, before] = [performance.now(), processReadBytes()];
for (const [index, token] of tokens.entries()) {
  if (index === warmUp) {
    isCounted = true;
    [begin, before] = [performance.now(), processReadBytes()];
  }
  transformer.evaluate([token]);
}
const counted = tokens.length - warmUp;
const after = processReadBytes();
const all = transformer.model.kinds.reduce(
  (sum, { feedForward }) => sum + (feedForward?.kind === 'experts' ? feedForward.router.experts : 0),
  0,
);
const turn: Turn = {
  tokenSeconds: (performance.now() - begin) / 1000 / counted,
  ...(after === undefined || before === undefined ? {} : { tokenBytes: (after - before) / counted }),
  ...{ used: used / counted / all, distinct: distinct.size / all },
  description: `Hearth, ${kernels.instructionSet}`,
};
process.stdout.write(JSON.stringify(turn));
kernels.close();
