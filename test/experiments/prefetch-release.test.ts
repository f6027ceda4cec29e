import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SCENES, type Scene } from '../../experiments/prefetch-release/scenes.ts';
import { observeScene, type SceneResult } from '../../experiments/prefetch-release/steps.ts';
import { cellOf, stepLabel } from '../../experiments/prefetch-release/text.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-prefetch-release-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

/** Each step with the layers in memory, as blocks: █ resident, ▒ partly resident, · not resident. */
function blocks({ steps }: SceneResult): [string, string][] {
  return steps.map((step) => [stepLabel(step), [...step.residency.values()].map(cellOf).join('')]);
}

const [three, four, five] = SCENES.map((scene) => observeScene(scene, 'linux')) as [
  SceneResult,
  SceneResult,
  SceneResult,
];

test('Fig. 3: prefetching evicts layers that it has just read, and page faults evict the rest', () => {
  assert.equal(blocks(three), [
    ['layer 6 done', '···███'],
    // "the OS prefetches 3 model layers to the available memory limit"
    ['layer 1 prefetched', '█···██'],
    ['layer 2 prefetched', '██···█'],
    ['layer 3 prefetched', '███···'],
    // "continues to load the 4th layer, causing the 1st layer to be released"
    ['layer 4 prefetched', '·███··'],
    ['layer 5 prefetched', '··███·'],
    // "by the end, the last 3 layers are in memory, while the first 3 are not"
    ['layer 6 prefetched', '···███'],
    // "the 1st layer … triggers a page fault, prompting the OS to reload it and the 4th layer to be released"
    ['layer 1 waited for', '█···██'],
    ['layer 2 waited for', '██···█'],
    ['layer 3 waited for', '███···'],
    ['layer 4 waited for', '·███··'],
    ['layer 5 waited for', '··███·'],
    ['layer 6 waited for', '···███'],
  ]);
});

test('Fig. 3: all layers are loaded twice', () => {
  assert.equal(
    [...three.loads],
    [1, 2, 3, 4, 5, 6].map((layer) => [layer, 2]),
  );
});

test('Fig. 4: two layers are resident before they are computed, and the next two replace them', () => {
  // The device's layers: 1, 2, then 5, 6, then 9, 10.
  assert.equal(blocks(four), [
    ['layer 10 done', '····██'],
    ['layer 1 prefetched', '█····█'],
    ['layer 2 prefetched', '██····'],
    ['layer 1 computed', '██····'],
    ['layer 2 computed', '██····'],
    ['layer 5 prefetched', '·██···'],
    ['layer 6 prefetched', '··██··'],
    ['layer 5 computed', '··██··'],
    ['layer 6 computed', '··██··'],
    ['layer 9 prefetched', '···██·'],
    ['layer 10 prefetched', '····██'],
    ['layer 9 computed', '····██'],
    ['layer 10 computed', '····██'],
  ]);
});

test('Fig. 5: one layer is resident when computation begins, and the second is waited for', () => {
  assert.equal(blocks(five), [
    ['layer 10 done', '····██'],
    ['layer 1 prefetched', '█····█'],
    ['layer 1 computed', '█▒···▒'],
    ['layer 2 waited for', '██····'],
    // "only one layer loads due to the slow disk, and the OS releases the oldest layer"
    ['layer 5 prefetched', '·██···'],
    ['layer 5 computed', '·▒█▒··'],
    // "at the 6th layer, another page fault occurs"
    ['layer 6 waited for', '··██··'],
    ['layer 9 prefetched', '···██·'],
    ['layer 9 computed', '···▒█▒'],
    ['layer 10 waited for', '····██'],
  ]);
});

test('Figs. 4 and 5: all layers are loaded once', () => {
  for (const { loads } of [four, five]) {
    assert.equal([...loads.keys()], [1, 2, 5, 6, 9, 10]);
    for (const [, times] of loads) assert.is(times, 1);
  }
});

test('resident layers never exceed the memory', () => {
  for (const { scene, steps } of [three, four, five]) {
    for (const { residency } of steps) {
      const layers = [...residency.values()].reduce((sum, share) => sum + share, 0);
      assert.ok(layers <= scene.room, `Fig. ${scene.figure}: ${layers} layers`);
    }
  }
});

test('with room for all six layers nothing is reloaded', () => {
  const [scene] = SCENES as [Scene];
  const [rest, seen] = scene.cluster.devices as [Scene['cluster']['devices'][0], Scene['cluster']['devices'][0]];
  const memory = { ...seen.memory, available: 2 * seen.memory.available };
  const cluster = { ...scene.cluster, devices: [rest, { ...seen, memory }] };
  const { loads, steps } = observeScene({ ...scene, room: 6, cluster }, 'linux');
  assert.equal([...loads.values()], [0, 0, 0, 0, 0, 0]);
  assert.not.ok(steps.some(({ waited }) => waited));
});

test('the script prints and writes the blocks', async () => {
  const { code, stdout } = await runHere('experiments/prefetch-release.ts', '--out', directory);
  assert.is(code, 0);
  assert.match(stdout, 'layer 4 prefetched  ·  █  █  █  ·  ·');
  const csv = readFileSync(join(directory, 'prefetch-release.csv'), 'utf8').trim().split('\n');
  // 13, 13 and 10 steps of six layers, and the header.
  assert.is(csv.length, 1 + 6 * (13 + 13 + 10));
  const { figures } = JSON.parse(readFileSync(join(directory, 'prefetch-release.json'), 'utf8'));
  assert.equal(figures[0].loads, { 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2 });
});

testReport(() => join(directory, 'report.html'), 3);

test('an unknown policy is reported in one line with exit code 2', async () => {
  const { code, stderr, stdout } = await runHere('experiments/prefetch-release.ts', '--reclaim', 'linus');
  assert.is(code, 2);
  assert.match(stderr, /^--reclaim: unknown "linus"; did you mean "linux"\?\n$/);
  assert.is(stdout, '');
});

test.run();
