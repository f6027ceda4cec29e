import { readFileSync, writeFileSync } from 'node:fs';
import { openRing } from '../../commands/open-ring.ts';
import { createServeCommand } from '../../commands/serve-options.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { isRecurrent } from '../../engine/model/layer-kind.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import type { RingFound, RingTask } from './lab-ring.ts';
import { contextOf, measureAll, passTimes } from './measure.ts';

/**
 * The head of a ring that measures drafts, and ends: `TASK RESULT [options of hearth serve]`. It reads a RingTask from the
 * first file and writes a RingFound to the second.
 */
const [taskFile = '', resultFile = '', ...options] = process.argv.slice(2);
const task = JSON.parse(readFileSync(taskFile, 'utf8')) as RingTask;
const asked = { ...task, stops: new Set(task.stops) };
const command = createServeCommand(async ({ model, kvCache, kernels, place: { ring: request } }) => {
  if (request === undefined) throw new InputError('--cluster', 'is missing; give the devices of a ring');
  const context = contextOf(asked);
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const size = { context, requests: 1, pageTokens: context };
  const {
    ring,
    model: shape,
    close,
  } = await openRing({
    ...{ ...request, ...size, trace: false, saveCluster: undefined, log },
    ...{ model, kvCache, kernels },
  });
  const target = ringModel(
    createRingTexts(ring, { contextLength: context, pages: 1, pageTokens: context, isRecurrent: isRecurrent(shape) }),
  );
  const own = openKernels({ implementation: 'native', threads: 1 });
  const passes = await passTimes(asked, target);
  const measured = await measureAll({ asked, place: 'ring', target, passes, kernels: own, step: () => {} });
  const found: RingFound = { passes, measured };
  writeFileSync(resultFile, JSON.stringify(found));
  await close();
  own.close();
});
await command.parseAsync(options, { from: 'user' });
process.exit(0);
