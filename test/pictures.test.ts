import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FINGERPRINTS, fingerprintOf, PICTURES } from './support/pictures-of-docs.ts';

const recorded: Readonly<Record<string, string>> = JSON.parse(readFileSync(FINGERPRINTS, 'utf8'));

for (const picture of PICTURES) {
  test(`${picture.file} shows what ${picture.script} draws (else: npm run renew:pictures)`, async () => {
    const out = mkdtempSync(join(tmpdir(), 'hearth-picture-'));
    try {
      assert.is(await fingerprintOf(picture, out), recorded[picture.file]);
    } finally {
      rmSync(out, { recursive: true });
    }
  });
}

test.run();
