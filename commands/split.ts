import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { partPaths } from '../engine/gguf/file-parts.ts';
import { formatBytes } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parsePlan } from '../engine/plan/parse-plan.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { splitModel } from '../engine/ring/device/split-model.ts';
import { checkOutputFile, FORCE, makeOutputFolder } from './output-file.ts';
import { OPTIONS } from './shared-options.ts';

interface Options {
  readonly model: string;
  readonly plan: string;
  readonly out: string;
  readonly force?: true;
}

/** `hearth split`: writes a file for each device of a plan, with only its layers. */
export function splitCommand(): Command {
  return new Command('split')
    .description('Cuts a model into one file for each device of a plan, with the layers that it runs.')
    .addOption(OPTIONS.model)
    .requiredOption('--plan <file>', 'a plan, from hearth run --save-plan or written by hand')
    .requiredOption('--out <folder>', 'the folder for the files, each named after its device')
    .addOption(FORCE)
    .action(run);
}

async function run({ model, plan, out, force }: Options): Promise<void> {
  const read = readPlan(plan);
  makeOutputFolder('--out', out);
  const allow = (path: string): void => {
    checkOutputFile({
      flag: '--out',
      path,
      kind: 'a GGUF file',
      inputs: [...partPaths(model), plan],
      force: force === true,
    });
  };
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  for (const { path, layers, bytes } of await splitModel(model, read, out, allow, log))
    process.stderr.write(`${path}: ${layers} layers, ${formatBytes(bytes)}\n`);
}

/** Reads a plan. @throws InputError for a file that can't be read, or is not a plan */
export function readPlan(path: string): Plan {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new InputError(path, 'can’t be read; give the path of a plan');
  }
  return parsePlan(text, path);
}
