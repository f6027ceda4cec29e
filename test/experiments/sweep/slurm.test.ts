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
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseTasks, taskList } from '../../../experiments/sweep/slurm/jobs.ts';
import { shardCount, shardRange } from '../../../experiments/sweep/slurm/script.ts';
import { runHere, runScript } from '../../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-slurm-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const SWEEP = ['experiments/halda-gap.ts', '--clusters', '10', '--devices', '2-3', '--shards', '3'] as const;

/**
 * Stand-ins for Slurm's commands, in bash: sbatch runs the tasks of the array at once in the background, sacct tells
 * which still run. Task 1 of the first job is killed before it computes anything. They show that the script and the
 * options are right for these stand-ins; they are not Slurm.
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
  ( SLURM_ARRAY_TASK_ID=$task bash "$script" >"$STAND_IN/log-$task" 2>&1; rm "$STAND_IN/running-\${job}_$task" ) </dev/null >/dev/null 2>&1 &
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
process.env.STAND_IN = join(directory, 'state');
mkdirSync(process.env.STAND_IN);

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

test('under stand-ins of sbatch and sacct, files are those of a local sweep, though a task was lost', async () => {
  const path = process.env.PATH;
  process.env.PATH = `${bin}:${path}`;
  try {
    const slurm = await runScript(...SWEEP, '--on', 'slurm', '--out', join(directory, 'slurm'));
    assert.is(slurm.code, 0, slurm.stderr);
  } finally {
    process.env.PATH = path;
  }
  assert.is(readFileSync(join(directory, 'state', 'arrays'), 'utf8'), '0-2\n1\n');
  const local = await runScript(...SWEEP, '--out', join(directory, 'local'));
  assert.is(local.code, 0, local.stderr);
  const names = readdirSync(join(directory, 'local')).filter((name) => name !== 'sweep-status.json');
  assert.is(names.length, 4);
  for (const name of names)
    assert.is(
      readFileSync(join(directory, 'slurm', name), 'utf8'),
      readFileSync(join(directory, 'local', name), 'utf8'),
      name,
    );
});

test('without sbatch the message says what to do', async () => {
  const path = process.env.PATH;
  process.env.PATH = join(directory, 'nothing');
  try {
    const { code, stderr } = await runHere(...SWEEP, '--on', 'slurm', '--out', join(directory, 'none'));
    assert.is(code, 2);
    assert.match(
      stderr,
      /--on slurm: there is no sbatch here; submit on a login node of the cluster, or look at --print/,
    );
  } finally {
    process.env.PATH = path;
  }
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
