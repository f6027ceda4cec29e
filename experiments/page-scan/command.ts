import { tmpdir } from 'node:os';
import { Command } from 'commander';
import { checkOutputFile, FORCE, writeOutputFile } from '../../commands/output-file.ts';
import { readTextFile } from '../../commands/text-file.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { parseQuantity } from '../../engine/input/quantity.ts';
import { readChoice, readCount, readList, readNumber } from '../../engine/terminal/options.ts';
import { createProgress } from '../../engine/terminal/progress.ts';
import { fileJson } from '../report/experiment.ts';
import { parsePageScan } from './record.ts';
import { compared, comparisonText, scanText } from './report.ts';
import { mapsFiles, USES } from './scan-file.ts';
import { scanSizes } from './scan-sizes.ts';

interface Options {
  readonly scan?: true;
  readonly compare?: string;
  readonly folder?: string;
  readonly out?: string;
  readonly by?: string;
  readonly shares: string;
  readonly memory?: string;
  readonly scans: string;
  readonly most: string;
  readonly seconds: string;
  readonly seed: string;
  readonly json?: true;
  readonly force?: true;
}

/** Sizes around the memory first: if time runs out, the others are left out. */
const SHARES = '1.1,0.9,1.4,0.5';

const EXAMPLES = `
Examples:
  hearth lab --scan
      five minutes at most; without root, on Linux, Android, macOS and Windows
  hearth lab --scan --folder /data --most 8GiB --shares 0.9,1.1
      a smaller file, on another disk
  hearth lab --compare hearth-scan-darwin.json
      a file that somebody sent, next to the simulator’s policies`;

/** `hearth lab`: what an operating system keeps of a file that is scanned again and again. */
export function labCommand(): Command {
  return new Command('lab')
    .description('Measures what this operating system keeps of a file in memory, and compares it with the simulator.')
    .option('--scan', 'write a file, scan it again and again at sizes around the available memory, and remove it')
    .option('--compare <file>', 'a file of --scan, from any machine, next to the simulator’s policies')
    .option('--folder <dir>', 'with --scan: where the scanned file lies (default: the folder for temporary files)')
    .option(
      '--out <file>',
      'with --scan: the file of results, for datasets/measured (default: hearth-scan-SYSTEM.json)',
    )
    .option(
      '--by <way>',
      `with --scan: ${USES.join(', ')}: page faults of a mapped file, or reads (default: fault, where the native kernels are built)`,
    )
    .option('--shares <list>', 'with --scan: sizes of the file, as shares of the memory, in this order', SHARES)
    .option(
      '--memory <size>',
      'with --scan: memory of which sizes are shares (default: what the system says is available)',
    )
    .option('--scans <n>', 'with --scan: scans of each size', '4')
    .option('--most <size>', 'with --scan: most bytes that are written; larger sizes are left out', '32GiB')
    .option('--seconds <n>', 'with --scan: most seconds in all; sizes that are not reached are left out', '300')
    .option('--seed <n>', 'with --scan: of the bytes of the file', '1')
    .option('--json', 'print JSON')
    .addOption(FORCE)
    .addHelpText('after', EXAMPLES)
    .action(run);
}

/** Options that --compare has no use for. */
const ONLY_SCAN = ['folder', 'out', 'by', 'shares', 'memory', 'scans', 'most', 'seconds', 'seed', 'force'] as const;

async function run(options: Options, command: Command): Promise<void> {
  if ((options.scan === undefined) === (options.compare === undefined))
    throw new InputError('lab', 'needs either --scan, or --compare with a file that --scan wrote');
  const given = ONLY_SCAN.find((name) => command.getOptionValueSource(name) === 'cli');
  if (options.compare !== undefined && given !== undefined)
    throw new InputError(`--${given}`, 'has no effect with --compare; leave it out');
  await (options.compare === undefined ? scan(options) : compare(options.compare, options));
}

async function scan(options: Options): Promise<void> {
  const request = {
    folder: options.folder ?? tmpdir(),
    by: options.by === undefined ? (mapsFiles() ? 'fault' : 'read') : readChoice('--by', options.by, USES),
    shares: readList('--shares', options.shares).map((one) => readNumber('--shares', one, 0.01, 10)),
    memory: options.memory === undefined ? undefined : parseQuantity(options.memory, 'size', '--memory'),
    scans: readCount('--scans', options.scans, 2, 20),
    most: parseQuantity(options.most, 'size', '--most'),
    seconds: readNumber('--seconds', options.seconds, 1, 3600),
    seed: readCount('--seed', options.seed, 0),
  } as const;
  const file = checkOutputFile({
    ...{ flag: '--out', path: options.out ?? `hearth-scan-${process.platform}.json` },
    ...({ kind: 'a scan of a page cache', inputs: [], force: options.force === true } as const),
  });
  const record = await scanSizes(request, createProgress);
  // Numbers of a list stand on one line.
  const text = fileJson(record).replace(
    /\[\s+([-\d.e,\s]+?)\s+\]/g,
    (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`,
  );
  writeOutputFile(file, text);
  if (options.json) process.stdout.write(text);
  else print([...scanText(record), '', `Results: ${file.path}; hearth lab --compare ${file.path} shows the policies.`]);
}

async function compare(path: string, options: Options): Promise<void> {
  const record = parsePageScan(readTextFile(path), path);
  const found = compared(record);
  if (options.json) process.stdout.write(fileJson({ system: record.system, ...found }));
  else print(comparisonText(record, found));
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
