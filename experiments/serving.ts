import { availableParallelism, hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeOutputFolder } from '../commands/output-file.ts';
import { readText } from '../datasets/read-text.ts';
import { parseRequests } from '../engine/batch/request-stream.ts';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadAddon } from '../engine/kernels/native/addon.ts';
import { readCount, readList, readNumber } from '../engine/terminal/options.ts';
import { madeModel, SMALL_MODEL } from './measure/made-models.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, count, option, text } from './report/options.ts';
import { loadTable, passTable, servingText, throughputTable } from './serving/columns.ts';
import { runRingServing } from './serving/lab-ring.ts';
import { servingFindings, servingPage } from './serving/report.ts';
import { runServing, SERVERS, type ServingRun } from './serving/run.ts';

/** A server of several requests, on this machine or on a lab ring: predicted, simulated and measured over a sweep of loads. */
await runExperiment({
  name: 'serving',
  description:
    'Requests to hearth serve’s engine, on this machine or a lab ring, by load: predicted, simulated, measured.',
  options: {
    on: choice(
      '--on <server>',
      `${SERVERS.join(', ')}: a ring of four devices on this machine, whose weights are in memory or read for every pass`,
      SERVERS,
      'this-machine',
    ),
    model: text('--model <file>', 'a GGUF file for this machine; a random one of 140 million weights unless given'),
    cache: text(
      '--cache <dir>',
      'where random models are kept; those of a ring on the disk that is throttled',
      join(tmpdir(), 'hearth-models'),
    ),
    threads: count('--threads <n>', 'threads of this machine; a device of a ring has one', {
      default: availableParallelism(),
      most: 1024,
    }),
    loads: option(
      '--loads <list>',
      'requests per second, as shares of the predicted capacity',
      (flag, list) => readList(flag, list).map((item) => readNumber(flag, item, 0.01, 10)),
      { default: '0.3,0.6,0.9,1.2' },
    ),
    clients: option(
      '--clients <list>',
      'numbers of clients that send a request when their last is answered',
      (flag, list) => readList(flag, list).map((item) => readCount(flag, item, 1, 1000)),
      { default: '1,4,8' },
    ),
    seconds: count('--seconds <n>', 'seconds of arrivals at each load', { default: 15, most: 3600 }),
    requests: option('--requests <file>', 'CSV of requests, in place of drawn ones (docs/how-to/serve.md)', (_, file) =>
      parseRequests(readText(file, 'give a CSV file of requests'), file),
    ),
    diskFile: text('--disk-file <file>', 'is made (512 MiB) for probes and removed; default: next to --out'),
  },
  json: 'serving.json',
  files: ['loads.csv', 'throughput.csv', 'passes.csv', 'profile.json'],
  seed: { help: 'of arrivals and lengths, of the random model, and of the weights that probes multiply' },
  async run(options, { progress }) {
    const { on, model: given, cache, threads, loads, clients, seconds, requests, diskFile, seed, out } = options;
    const addon = loadAddon();
    if (typeof addon === 'string')
      throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
    const asked = { seed, seconds, shares: loads, clients, requests, progress };
    const run = async (): Promise<ServingRun> => {
      if (on !== 'this-machine') {
        if (given !== undefined) throw new InputError('--model', 'is for this machine; a lab ring has its own');
        return runRingServing({ ...asked, models: cache }, on);
      }
      const file = given ?? (await madeModel(cache, SMALL_MODEL, 'Q8_0', seed));
      if (diskFile === undefined) makeOutputFolder('--out', dirname(out));
      const weightsFile = diskFile ?? temporaryPath(join(dirname(out), 'hearth-serving'));
      return runServing({ ...asked, addon, file, threads, weightsFile });
    };
    const found = await run();
    const { model, host, profile } = found;
    const machine = threads === 1 ? '1 thread' : `${threads} threads`;
    const server = on === 'this-machine' ? machine : `a ring of four devices, ${on.replace('ring-', '')}`;
    return {
      subtitle: `${modelText(model)} on ${hostname()}: ${server} · ${requests === undefined ? `${seconds} s of arrivals at each load` : `${requests.length} requests of a file`}`,
      findings: servingFindings(found),
      data: {
        settings: { on, model: model.name, mix: model.mix, threads, loads, clients, seconds, seed },
        host,
        loads: found.loads.map(({ simulated: { passes, requests: _, ...simulated }, ...load }) => ({
          ...load,
          simulated: { ...simulated, passes: passes.length },
        })),
        passes: found.passes,
      },
      text: servingText(found),
      page: servingPage(found),
      files: {
        'loads.csv': tableCsv(loadTable(found.loads)),
        'throughput.csv': tableCsv(throughputTable(found.loads)),
        'passes.csv': tableCsv(passTable(found.passes)),
        'profile.json': profile,
      },
    };
  },
});
