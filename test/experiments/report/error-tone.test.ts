import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorTone, tonesAt } from '../../../experiments/report/error-tone.ts';

test('tones are good within the limit, fair within twice the limit, else bad; the default limit is a quarter', () => {
  assert.equal(
    [0.1, -0.1, 0.11, -0.2, 0.21].map((error) => errorTone(error, 0.1)),
    ['good', 'good', 'fair', 'fair', 'bad'],
  );
  assert.equal(
    [0.25, -0.5, 0.6].map((error) => errorTone(error)),
    ['good', 'fair', 'bad'],
  );
});

test('tones are placed by column', () => {
  assert.equal(tonesAt(4, { 1: 'good', 3: undefined }), [undefined, 'good', undefined, undefined]);
});

test.run();
