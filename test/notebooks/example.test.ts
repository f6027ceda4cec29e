import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { LESSONS } from '../../notebooks/lessons.ts';
import { HOME, LARGE, MACHINES, type Machine, MIXTURE, machineOf } from '../../notebooks/lib/example.ts';

const pageOf = (page: string): string => readFileSync(`notebooks/${page}.html`, 'utf8');

test('every lesson has its title, speaks of the example, and ends with a sentence that leads on', () => {
  for (const { page, title, claim, leads } of LESSONS) {
    const text = pageOf(page);
    assert.ok(text.includes(`<title>${title}</title>`), page);
    assert.match(text, new RegExp(`^    # ${title}$`, 'm'), page);
    assert.match(text, /70B|\bLARGE\b|\bMIXTURE\b/, page);
    assert.match(claim, /^[A-Z].*\.$/, page);
    assert.match(leads, /^[A-Z][^.]*[.?]$/, page);
  }
});

test('every lesson has one guess and at least two exercises', () => {
  for (const { page } of LESSONS) {
    const text = pageOf(page);
    assert.is(text.match(/display\(guess\(/g)?.length, 1, page);
    assert.ok((text.match(/display\(exercise\(/g)?.length ?? 0) >= 2, page);
  }
});

test('no machine of the example holds one of its models, not with its graphics card either', () => {
  const home = loadCluster(HOME);
  const catalogue = loadCatalogue();
  const room = (Object.keys(MACHINES) as Machine[]).map((name) => {
    const { memory, gpu } = machineOf(home, name);
    return memory.available + (gpu?.api === 'cuda' ? gpu.memory.available : 0);
  });
  for (const name of [LARGE, MIXTURE]) {
    const { bytes } = createNamedModel(catalogue, name);
    assert.ok(Math.max(...room) < bytes, name);
  }
});

test.run();
