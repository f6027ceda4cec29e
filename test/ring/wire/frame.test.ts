import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { requestBytes, resultBytes } from '../../../engine/experts/expert-traffic.ts';
import { packActivations, unpackActivations } from '../../../engine/ring/wire/activations.ts';
import { type ActivationFrame, decodeFrame, encodeFrame, HEADER_BYTES } from '../../../engine/ring/wire/frame.ts';
import { FrameError } from '../../../engine/ring/wire/frame-error.ts';
import { HEAD_MESSAGE, readMessage, WORKER_MESSAGE } from '../../../engine/ring/wire/parse-message.ts';

const FRAME: ActivationFrame = {
  kind: 'activations',
  epoch: 0xfeedbeef,
  number: 9,
  window: 5,
  segments: [
    { request: 3, position: 100, tokens: 2, rows: 1, pages: [7, 258], multiplied: 'together' },
    { request: 4, position: 0, tokens: 1, rows: 0, pages: [7], multiplied: undefined },
  ],
  copies: [{ from: 7, to: 3, tokens: 5 }],
  isFollowed: true,
  format: 'F32',
  sentAt: 12.25,
  payload: Uint8Array.of(1, 2, 3, 4),
};

test('a frame is encoded to the specified bytes', () => {
  const bytes = encodeFrame(FRAME);
  assert.is(
    bytes.toString('hex'),
    [
      '48525448', // HRTH
      '0a00', // version 10
      '0100', // activations, F32
      '04000000', // bytes of payload
      'efbeedfe',
      '05000000',
      '02000000', // segments
      '01000000', // another frame follows
      '01000000', // copies
      '09000000', // frame 9
      '00000000',
      '0000000000802840', // 12.25
      '03000000', // request 3
      '64000000', // position 100
      '02000000',
      '01000000',
      '02000000', // pages
      '02000000', // multiplied together
      '040000000000000001000000000000000100000000000000', // request 4
      '070000000201000007000000', // the pages of both
      '070000000300000005000000', // page 7 to page 3, 5 tokens
      '01020304',
    ].join(''),
  );
  const { payload, ...rest } = decodeFrame(bytes) as ActivationFrame;
  assert.equal({ ...rest, payload: [...payload] }, { ...FRAME, payload: [1, 2, 3, 4] });
});

const uint32 = fc.nat({ max: 2 ** 32 - 1 });

test('a decoded frame equals the encoded one', () => {
  const segment = fc.record(
    {
      request: uint32,
      position: fc.nat({ max: 1000 }),
      tokens: fc.integer({ min: 2, max: 1000 }),
      rows: fc.nat({ max: 2 }),
      pages: fc.uniqueArray(uint32, { minLength: 1, maxLength: 9 }),
      multiplied: fc.constantFrom(undefined, 'singly' as const, 'together' as const),
    },
    { noNullPrototype: true },
  );
  const copy = fc
    .record({ from: uint32, to: uint32, tokens: fc.integer({ min: 1, max: 1000 }) }, { noNullPrototype: true })
    .filter(({ from, to }) => from !== to);
  const activations = fc.record({
    kind: fc.constant('activations' as const),
    epoch: uint32,
    number: uint32,
    window: uint32,
    segments: fc.uniqueArray(segment, { minLength: 1, maxLength: 5, selector: ({ request }) => request }),
    copies: fc.array(copy, { maxLength: 3 }),
    isFollowed: fc.boolean(),
    format: fc.constantFrom('F32' as const, 'F16' as const),
    sentAt: fc.double({ noNaN: true, noDefaultInfinity: true }),
    payload: fc.uint8Array(),
  });
  const probe = fc.record({
    kind: fc.constantFrom('probe' as const, 'echo' as const),
    tag: uint32,
    payload: fc.uint8Array(),
  });
  const message = fc.record({ kind: fc.constant('message' as const), payload: fc.uint8Array() });
  fc.assert(
    fc.property(fc.oneof(activations, probe, message), (frame) => {
      const read = decodeFrame(encodeFrame(frame));
      assert.equal({ ...read, payload: [...read.payload] }, { ...frame, payload: [...frame.payload] });
    }),
    { seed: 5 },
  );
});

const problem = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'nothing was thrown';
};
const edited = (edit: (bytes: Buffer) => unknown): string => {
  const bytes = encodeFrame(FRAME);
  edit(bytes);
  return problem(() => decodeFrame(bytes));
};

test('malformed frames are refused with the reason', () => {
  assert.is(
    problem(() => decodeFrame(new Uint8Array(7))),
    'FrameError: a frame of 7 bytes; its header alone has 48',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt8(0x47, 0)),
    'FrameError: a frame that does not begin with "HRTH"',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt16LE(1, 4)),
    'FrameError: version 1 of the protocol; this Hearth speaks 10, use the same on both',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt8(9, 6)),
    'FrameError: a frame of kind 9; there are 6 kinds',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(5, 8)),
    'FrameError: a payload of 4 bytes that claims 5',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt8(2, 7)),
    'FrameError: activations in format 2; the formats are F32 and F16',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(2 ** 31 - 1, 52)),
    'FrameError: tokens 2147483647 to 2147483648, 1 rows wanted',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(3, 60)),
    'FrameError: tokens 100 to 101, 3 rows wanted',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(3, 68)),
    'FrameError: way 3 of multiplying; there are 0, 1 and 2',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(3, 72)),
    'FrameError: a request twice in one frame',
  );
  for (const count of [0, 4, 2 ** 32 - 1])
    assert.is(
      edited((bytes) => bytes.writeUInt32LE(count, 20)),
      `FrameError: ${count} segments; a frame of its length has 1 to 3`,
    );
  for (const count of [0, 8, 2 ** 32 - 1])
    assert.is(
      edited((bytes) => bytes.writeUInt32LE(count, 64)),
      `FrameError: ${count} pages of a segment; the rest of its frame has 1 to 7`,
    );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(258, 96)),
    'FrameError: a page twice in one segment',
  );
  for (const count of [2, 2 ** 32 - 1])
    assert.is(
      edited((bytes) => bytes.writeUInt32LE(count, 28)),
      `FrameError: ${count} copies of pages; a frame of its length has at most 1`,
    );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(0, 28)),
    'FrameError: a payload of 16 bytes that claims 4',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(7, 112)),
    'FrameError: a copy of page 7 to itself',
  );
  assert.is(
    edited((bytes) => bytes.writeUInt32LE(0, 116)),
    'FrameError: a copy of 0 tokens of page 7; at least 1 is allowed',
  );
  assert.is(
    edited((bytes) => bytes.writeDoubleLE(Number.NaN, 40)),
    'FrameError: activations without a valid time of sending',
  );
});

/** Decodes a frame as head and worker do. */
const readAll = (bytes: Uint8Array): void => {
  const frame = decodeFrame(bytes);
  if (frame.kind !== 'message') return;
  if (bytes.length % 2 === 0) readMessage(frame, HEAD_MESSAGE);
  else readMessage(frame, WORKER_MESSAGE);
};

test('each of 10,000 hostile frames is decoded or refused with a FrameError', () => {
  const json = fc.json().map((text) => new TextEncoder().encode(text));
  const kinds = ['hello', 'prepare', 'link', 'measure', 'clock', 'welcome', 'spans', 'lost', 'failed'];
  const almost = fc
    .tuple(
      fc.constantFrom(...kinds),
      fc.dictionary(fc.constantFrom('epoch', 'assignment', 'spans', 'head'), fc.jsonValue()),
    )
    .map(([kind, members]) => new TextEncoder().encode(JSON.stringify({ ...members, kind })));
  const message = fc.oneof(json, almost, fc.uint8Array()).map((payload) => encodeFrame({ kind: 'message', payload }));
  const flipped = fc
    .array(fc.tuple(fc.nat({ max: HEADER_BYTES + 3 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 6 })
    .map((flips) => {
      const bytes = encodeFrame(FRAME);
      for (const [at, value] of flips) bytes[at] = value;
      return bytes;
    });
  const cut = fc.nat({ max: HEADER_BYTES + 4 }).map((length) => encodeFrame(FRAME).subarray(0, length));
  const frames = fc.oneof(message, flipped, cut, fc.uint8Array({ maxLength: 200 }));
  let [read, refused] = [0, 0];
  fc.assert(
    fc.property(frames, (bytes) => {
      try {
        readAll(bytes);
        read += 1;
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        assert.ok(error.message.length < 400);
        refused += 1;
      }
    }),
    { seed: 11, numRuns: 10_000 },
  );
  assert.ok(read > 500 && refused > 5000, `${read} read, ${refused} refused`);
});

test('messages must have a known kind and exactly its members', () => {
  const of = (message: unknown): string => {
    const payload = new TextEncoder().encode(JSON.stringify(message));
    return problem(() => readMessage({ kind: 'message', payload }, HEAD_MESSAGE));
  };
  assert.is(of({ kind: 'link', epoch: 7 }), 'nothing was thrown');
  assert.is(
    of({ kind: 'link', epoch: -1 }),
    'FrameError: a message whose message.epoch is not a number from 0 to 4294967295',
  );
  assert.is(of({ kind: 'link', epoch: 7, more: 1 }), 'FrameError: a message whose message has an unknown member');
  assert.match(of({ kind: 'linkk' }), /^FrameError: a message whose message\.kind is not one of hello, prepare,/);
  assert.match(of({ kind: 'hello', head: 'h', device: 'd', model: 'x' }), /message\.model is not /);
});

test('F32 activations keep every bit and F16 activations 11 significant bits', () => {
  const values = Float32Array.of(1, -2.5, 1 / 3, 65_504, 1e-7);
  const back = (format: 'F32' | 'F16'): number[] => {
    const into = new Float32Array(values.length);
    unpackActivations(packActivations(values, format).slice(), format, into);
    return [...into];
  };
  assert.equal(back('F32'), [...values]);
  assert.equal(back('F16'), [1, -2.5, 0.333251953125, 65_504, 1.1920928955078125e-7]);
});

test('requests for experts and sums survive encoding, in the bytes that are predicted', () => {
  const rows = [
    [{ expert: 3, weight: 0.5 }],
    [
      { expert: 1, weight: 0.25 },
      { expert: 7, weight: -2 },
    ],
  ];
  const common = { epoch: 9, number: 4, layer: 2, format: 'F32', sentAt: 1.5 } as const;
  const payload = Buffer.alloc(2 * 8, 7);
  const request = { kind: 'experts', ...common, rows, payload } as const;
  const bytes = encodeFrame(request);
  assert.equal(decodeFrame(bytes), request);
  assert.is(bytes.length, requestBytes({ rows: 2, choices: 3 }, 8));
  const sums = { kind: 'sums', ...common, rows: 2, payload } as const;
  assert.equal(decodeFrame(encodeFrame(sums)), sums);
  assert.is(encodeFrame(sums).length, resultBytes({ rows: 2 }, 8));
  const problem = (change: (copy: Buffer) => void, from = bytes): string => {
    const copy = Buffer.from(from);
    change(copy);
    try {
      decodeFrame(copy);
    } catch (error) {
      return String(error);
    }
    return 'valid';
  };
  assert.match(
    problem((copy) => copy.writeUInt32LE(0, 20)),
    /FrameError: 0 rows for experts; .* has 1 to 4$/,
  );
  assert.match(
    problem((copy) => copy.writeUInt32LE(2 ** 32 - 1, 20)),
    /FrameError: 4294967295 rows for experts/,
  );
  assert.match(
    problem((copy) => copy.writeUInt32LE(0, 48)),
    /FrameError: 0 experts of a row/,
  );
  assert.match(
    problem((copy) => copy.writeUInt32LE(1000, 52)),
    /FrameError: 1000 experts of a row/,
  );
  assert.match(
    problem((copy) => copy.writeFloatLE(Number.NaN, 60)),
    /FrameError: a weight that is no number/,
  );
  assert.match(
    problem((copy) => copy.writeUInt32LE(7, 64)),
    /FrameError: an expert twice in one row/,
  );
  assert.match(
    problem((copy) => copy.writeDoubleLE(Number.NaN, 40)),
    /FrameError: .* valid time of sending/,
  );
  assert.match(
    problem((copy) => copy.writeUInt32LE(0, 20), encodeFrame(sums)),
    /FrameError: sums of 0 rows/,
  );
});

test.run();
