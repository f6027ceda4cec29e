import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseTasks, taskList } from '../../../experiments/sweep/slurm/jobs.ts';
import { shardCount, shardRange } from '../../../experiments/sweep/slurm/script.ts';
import { readStatus, STATUS_FILE } from '../../../experiments/sweep/status-file.ts';
import { testIf } from '../../support/needs.ts';
import { hearthHere, runHere, runScript } from '../../support/run-script.ts';
import { NO_SLURM, startSlurm } from '../../support/slurm.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-slurm-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const SWEEP = ['experiments/halda-gap.ts', '--clusters', '10', '--devices', '2-3', '--shards', '3'] as const;
/** Files that a sweep writes, but for its progress. */
const filesOf = (out: string): string[] =>
  readdirSync(out).filter((name) => /\.(jsonl?|csv|html)$/.test(name) && name !== STATUS_FILE);

/** The files of an undisturbed sweep on threads, against which others are held. */
const local = join(directory, 'local');
test.before(async () => {
  const { code, stderr } = await runScript(...SWEEP, '--out', local);
  assert.is(code, 0, stderr);
  assert.is(filesOf(local).length, 4);
});

function assertSameFiles(out: string): void {
  for (const name of filesOf(local))
    assert.is(readFileSync(join(out, name), 'utf8'), readFileSync(join(local, name), 'utf8'), name);
}

/** Runs with other environment variables. */
async function withEnvironment(variables: Readonly<Record<string, string>>, body: () => Promise<void>): Promise<void> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  Object.assign(process.env, variables);
  try {
    await body();
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** The process that computes a shard of a sweep in `out`; `undefined` while there is none. */
function shardProcess(out: string): number | undefined {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (command.includes('sweep-shard') && command.some((word) => word.startsWith(`${out}/`))) return Number(name);
    } catch {}
  }
  return undefined;
}

async function until<Found>(what: string, find: () => Found | undefined): Promise<Found> {
  for (const limit = Date.now() + 60_000; Date.now() < limit; await pause(20)) {
    const found = find();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not happen within 60 s`);
}

testIf(
  NO_SLURM === undefined,
  `${NO_SLURM}`,
  'under Slurm, files are those of a local sweep, though a task and the submitter were killed',
  async () => {
    const out = join(directory, 'real');
    const slurm = await startSlurm(2);
    try {
      await withEnvironment(slurm.env, async () => {
        const command = ['--import', 'tsx', ...SWEEP, '--on', 'slurm', '--out', out];
        const first = spawn(process.execPath, command, { stdio: 'ignore' });
        process.kill(await until('a task', () => shardProcess(out)), 'SIGKILL');
        await until('a task by signal 9', () => [...slurm.tasks().values()].find(({ signal }) => signal === 9));
        first.kill('SIGKILL');
        const second = await runScript(...SWEEP, '--on', 'slurm', '--out', out);
        assert.is(second.code, 0, second.stderr);
      });
      const states = [...slurm.tasks().values()].map(({ state }) => state);
      assert.is(states.length, 4);
      assert.equal(
        states.filter((state) => !/COMPLET|RUNNING/.test(state)),
        ['FAILED'],
      );
    } finally {
      await slurm.stop();
    }
    assertSameFiles(out);
  },
);

/**
 * A cluster that keeps accounts, which Slurm alone doesn't do here (slurmdbd wants a database): stand-ins for its
 * commands, in bash. sbatch runs the tasks of the array at once in the background, sacct tells which still run. Task 1 of
 * the first job is lost before it computes anything.
 */
const bin = join(directory, 'bin');
mkdirSync(bin);
writeFileSync(
  join(bin, 'sbatch'),
  `#!/bin/bash
set -eu
for option in "$@"; do case "$option" in --array=*) array=\${option#--array=};; *.sh) script=$option;; esac; done
job=$(( $(ls "$STAND_IN" | grep -c '^job-' || true) + 1 )); touch "$STAND_IN/job-$job"; echo "$array" >> "$STAND_IN/arrays"
for part in \${array//,/ }; do for task in $(seq "\${part%-*}" "\${part#*-}"); do
  if [ "$job" = 1 ] && [ "$task" = 1 ]; then continue; fi
  touch "$STAND_IN/running-\${job}_$task"
  ( SLURM_ARRAY_TASK_ID=$task bash "$script" >"$STAND_IN/log-$task" 2>&1 || true; rm "$STAND_IN/running-\${job}_$task" ) </dev/null >/dev/null 2>&1 &
done; done
echo "$job"
`,
);
writeFileSync(
  join(bin, 'sacct'),
  `#!/bin/bash
for file in "$STAND_IN"/running-*; do [ -e "$file" ] && echo "\${file##*running-}|RUNNING"; done
echo "1_1|FAILED"
`,
);
for (const name of ['sbatch', 'sacct']) chmodSync(join(bin, name), 0o755);
const state = join(directory, 'state');
mkdirSync(state);

test('the script can be read before it is submitted', async () => {
  const out = join(directory, "it's");
  const { code, stdout } = await runHere(...SWEEP, '--on', 'slurm', '--print-script', '--out', out);
  assert.is(code, 0);
  assert.match(stdout, /^#!\/bin\/bash\n#SBATCH --job-name=hearth-halda-gap\n#SBATCH --array=0-2\n/);
  assert.match(
    stdout,
    /\nexec '.*' bin\/hearth\.js sweep-shard --folder '.*it'\\''s\/shards-[0-9a-f]{12}' --hang 600 --shard "\$SLURM_ARRAY_TASK_ID"\n$/,
  );
  assert.is(existsSync(out), false);
});

test('with accounts, under stand-ins of sbatch and sacct: a lost task is submitted again', async () => {
  const out = join(directory, 'accounts');
  await withEnvironment({ PATH: `${bin}:${process.env.PATH}`, STAND_IN: state }, async () => {
    const { code, stderr } = await runScript(...SWEEP, '--on', 'slurm', '--out', out);
    assert.is(code, 0, stderr);
  });
  assert.is(readFileSync(join(state, 'arrays'), 'utf8'), '0-2\n1\n');
  assertSameFiles(out);
  const { stdout } = await hearthHere('sweep-status', '--on', out);
  assert.match(stdout, /: 10 of 10 points \(100\.0 %\); \d+\.\d % of the workers’ time in points\n$/);
  const { inPoints = 0 } = readStatus(out) ?? {};
  assert.ok(inPoints > 0 && inPoints < 1, `${inPoints}`);
});

test('with points from elsewhere, shards that have nothing left are not submitted', async () => {
  const [out, own] = [join(directory, 'rest'), join(directory, 'rest-state')];
  for (const made of [out, own]) mkdirSync(made);
  const points = filesOf(local).find((name) => name.startsWith('points-')) as string;
  // Shards 0 and 1 have four points each, 2 has the last two.
  const lines = readFileSync(join(local, points), 'utf8').split('\n').slice(0, 9);
  writeFileSync(join(out, points), `${lines.join('\n')}\n`);
  await withEnvironment({ PATH: `${bin}:${process.env.PATH}`, STAND_IN: own }, async () => {
    const { code, stderr } = await runHere(...SWEEP, '--on', 'slurm', '--out', out);
    assert.is(code, 0, stderr);
  });
  assert.is(readFileSync(join(own, 'arrays'), 'utf8'), '2\n');
  assertSameFiles(out);
});

test('a point that takes too long is named at once, and tried again by the next submitter', async () => {
  const own = join(directory, 'hang-state');
  mkdirSync(own);
  const hang = ['experiments/halda-gap.ts', '--clusters', '1', '--devices', '30-40', '--hang', '0.1'] as const;
  const out = join(directory, 'hang');
  await withEnvironment({ PATH: `${bin}:${process.env.PATH}`, STAND_IN: own }, async () => {
    for (const arrays of ['0\n', '0\n0\n']) {
      const { code, stderr } = await runScript(...hang, '--on', 'slurm', '--out', out);
      assert.is(code, 1, stderr);
      assert.match(stderr, /point 0 has no result after 0\.1 s; run it alone with --point 0/);
      assert.is(readFileSync(join(own, 'arrays'), 'utf8'), arrays);
    }
  });
});

test('without sbatch the message says what to do', async () => {
  await withEnvironment({ PATH: join(directory, 'nothing') }, async () => {
    const { code, stderr } = await runHere(...SWEEP, '--on', 'slurm', '--out', join(directory, 'none'));
    assert.is(code, 2);
    assert.match(
      stderr,
      /--on slurm: there is no sbatch here; submit on a login node of the cluster, or look at --print/,
    );
  });
});

test('tasks are read from sacct and squeue, and written for sbatch', () => {
  assert.equal(
    [...parseTasks('7_1|RUNNING\n7_2|COMPLETED\n7_[3-4,9]|PENDING\n7_5|CANCELLED by 0\n', '|')],
    [1, 3, 4, 9],
  );
  assert.equal([...parseTasks('8_0 RUNNING\n', ' ')], [0]);
  assert.is(taskList([0, 1, 2, 5, 7, 8]), '0-2,5,7-8');
});

test('shards cover all points once', () => {
  assert.equal(
    [0, 1, 2].map((shard) => shardRange(10, 3, shard)),
    [
      [0, 4],
      [4, 8],
      [8, 10],
    ],
  );
  assert.is(shardCount(10, 3), 3);
  // Shards of two points each: a third would be empty.
  assert.is(shardCount(4, 3), 2);
  assert.is(shardCount(2, 64), 2);
});

test.run();
