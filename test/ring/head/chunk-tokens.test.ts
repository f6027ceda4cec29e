import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pairKey } from '../../../engine/hardware/cluster.ts';
import { chunkTokens } from '../../../engine/ring/head/chunk-tokens.ts';

/** 8192 values of four bytes. */
const tokenBytes = 32_768;
const MBIT = 1e6 / 8;
const windows = ['h', 'a', 'b'].map((device) => ({ device }));
const tokens = (...links: readonly (readonly [string, string, number])[]): number => {
  const bandwidths = new Map(links.map(([a, b, rate]) => [pairKey(a, b), rate * MBIT]));
  return chunkTokens({ head: 'h', windows, bandwidths, tokenBytes, most: 128 });
};

test('a frame is as long as the slowest link of the ring takes in a second', () => {
  assert.is(tokens(), 128);
  assert.is(tokens(['h', 'a', 1000], ['a', 'b', 1000], ['h', 'b', 1000]), 128);
  assert.is(tokens(['h', 'a', 1000], ['a', 'b', 10], ['h', 'b', 1000]), 38);
  assert.is(tokens(['h', 'a', 1000], ['a', 'b', 1000], ['h', 'b', 1]), 8);
});

test('a link that was not measured counts as slow as the slowest, and links of other rings don’t count', () => {
  assert.is(tokens(['h', 'a', 1000], ['h', 'b', 10]), 38);
  assert.is(tokens(['h', 'a', 1000], ['a', 'b', 1000], ['h', 'b', 1000], ['h', 'c', 1]), 128);
});

test.run();
