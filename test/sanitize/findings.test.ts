import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findingsOf } from './findings.ts';

const NODES = `Indirect leak of 256 byte(s) in 2 object(s) allocated from:
    #0 0x7fb2e6eb94c8  (/usr/lib/gcc/x86_64-linux-gnu/12/libasan.so+0xb94c8)
    #1 0x10efaa1  (/usr/bin/node+0x10efaa1)
    #2 0x7fab1df471ef  (/hearth/native/build/sanitize/hearth.node+0x5471ef)`;
const OURS = `Direct leak of 777 byte(s) in 1 object(s) allocated from:
    #0 0x7fb2e6eb94c8  (/usr/lib/gcc/x86_64-linux-gnu/12/libasan.so+0xb94c8)
    #1 0x7fab1df471ef  (/hearth/native/build/sanitize/hearth.node+0x5471ef)
    #2 0x10efaa1  (/usr/bin/node+0x10efaa1)`;
const LEAKS = `
=================================================================
==9998==ERROR: LeakSanitizer: detected memory leaks

${NODES}

${OURS}

SUMMARY: AddressSanitizer: 1033 byte(s) leaked in 3 allocation(s).
`;

test('memory that the addon asked for is its leak; memory that Node.js asked for on its behalf is not', () => {
  assert.equal(findingsOf(LEAKS, 'hearth.node'), { errors: [], leaks: [OURS], foreignLeaks: 1 });
});

test('an invalid access and undefined behaviour are errors', () => {
  const access = '==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014';
  const overflow = 'native/engine.cpp:12:5: runtime error: signed integer overflow';
  for (const report of [access, overflow]) {
    assert.equal(findingsOf(report, 'hearth.node'), { errors: [report], leaks: [], foreignLeaks: 0 });
  }
});

test.run();
