import { statSync } from 'node:fs';
import { Command } from 'commander';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { partPaths } from '../engine/gguf/file-parts.ts';
import { formatBytes, formatSeconds } from '../engine/input/format.ts';
import { type ExpertsToPack, packExperts } from '../engine/runtime/load/pack-experts.ts';
import { createShareProgress } from '../engine/terminal/progress.ts';
import { checkOutputFile, FORCE, removedIfInterrupted } from './output-file.ts';

interface Options {
  readonly out: string;
  readonly force?: true;
}

/** `hearth pack-experts`: writes a mixture's experts to a file in which each is one read. */
export function packExpertsCommand(): Command {
  return new Command('pack-experts')
    .description(
      'Writes the experts of a mixture to a file that has the matrices of each next to one another, for --packed-experts; the model’s file is still needed.',
    )
    .argument('<model>', 'a GGUF file')
    .requiredOption('--out <file>', 'the file to write, as large as all experts')
    .addOption(FORCE)
    .action(run);
}

async function run(input: string, { out, force }: Options): Promise<void> {
  const inputs = partPaths(input);
  checkOutputFile({ flag: '--out', path: out, kind: 'a file of packed experts', inputs, force: force === true });
  const start = performance.now();
  const progress = createPackingProgress(out);
  try {
    const pack = { input, path: out, onExpert: progress.show };
    const { layers, model } = await removedIfInterrupted(temporaryPath(out), () => packExperts(pack));
    const count = layers.reduce((sum, { experts }) => sum + experts, 0);
    progress.stop();
    const [size, time] = [formatBytes(statSync(out).size), formatSeconds((performance.now() - start) / 1000)];
    process.stderr.write(`${out}: ${count} experts of ${model.name}, ${size}, ${time}\n`);
  } finally {
    progress.stop();
  }
}

/** Seconds between lines where stderr is no terminal. */
const LINES_EVERY = 10;

/** A bar on a terminal, and a line from time to time elsewhere. */
function createPackingProgress(path: string): { readonly show: NonNullable<ExpertsToPack['onExpert']>; stop(): void } {
  const bar = createShareProgress();
  const start = performance.now();
  let next = LINES_EVERY;
  return {
    show(layer, written, bytes) {
      bar.show(`layer ${layer}`, written / bytes);
      const seconds = (performance.now() - start) / 1000;
      if (process.stderr.isTTY === true || seconds < next) return;
      next = seconds + LINES_EVERY;
      const left = Math.ceil((seconds / written) * (bytes - written));
      process.stderr.write(`${path}: ${formatBytes(written)} of ${formatBytes(bytes)}, ${left} s left\n`);
    },
    stop: bar.stop,
  };
}
