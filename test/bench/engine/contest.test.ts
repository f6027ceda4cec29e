import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue } from '../../../datasets/load.ts';
import { cellOf, decodeBytes, spreadOf } from './cell.ts';
import { contest, disciplineName } from './contest.ts';
import type { Limits } from './contestant.ts';
import type { Engine } from './engine.ts';
import { speedTable } from './report.ts';

const test = suite('bench: contest');
const LIMITS: Limits = { readBandwidth: 8e9, floatPeak: 1e11, bytePeak: 4e11 };

/** An engine whose turns take `tokenSeconds` for each token, and which writes them to a log. */
function toyEngine(log: string[], name: string, tokenSeconds: number, continues = true): Engine {
  const turn = (kind: string) => async (tokens: number) => {
    log.push(`${name} ${kind} ${tokens}`);
    return { seconds: tokens * tokenSeconds, processorSeconds: tokens * tokenSeconds };
  };
  return { name, description: name, continues, prefill: turn('prefill'), decode: turn('decode'), close() {} };
}

test('each round another engine goes first, and the limits are measured after each turn', async () => {
  const log: string[] = [];
  const limits = async () => {
    log.push('limits');
    return LIMITS;
  };
  const hearth = { ...toyEngine(log, 'Hearth', 0.01), limits };
  const rounds = await contest({ kind: 'prefill', tokens: 4 }, hearth, [toyEngine(log, 'A', 0.02)], { repetitions: 2 });
  assert.equal(log, [
    ...['Hearth prefill 4', 'limits', 'A prefill 4', 'limits'],
    ...['A prefill 4', 'limits', 'Hearth prefill 4', 'limits'],
  ]);
  assert.equal(rounds[1]?.peers, new Map([['A', 0.08]]));
  assert.equal(rounds[1]?.limits, LIMITS);
});

test('a round that has no time any more is left out, but the first', async () => {
  const log: string[] = [];
  const hearth = { ...toyEngine(log, 'Hearth', 0.01), limits: async () => LIMITS };
  const roundsWithin = async (times: number) => {
    let left = times;
    const rounds = { repetitions: 7, hasTime: () => left-- > 0 };
    return (await contest({ kind: 'prefill', tokens: 4 }, hearth, [], rounds)).length;
  };
  assert.equal([await roundsWithin(0), await roundsWithin(2), await roundsWithin(9)], [1, 3, 7]);
});

test('engines decode eight tokens at a time, or all where one of them begins each turn anew', async () => {
  const decoded = async (continues: boolean) => {
    const log: string[] = [];
    const hearth = { ...toyEngine(log, 'Hearth', 0.01), limits: async () => LIMITS };
    await contest({ kind: 'decode', tokens: 12 }, hearth, [toyEngine(log, 'A', 0.01, continues)], {
      repetitions: 1,
    });
    return log;
  };
  assert.equal(await decoded(true), [
    ...['Hearth prefill 1', 'A prefill 1'],
    ...['Hearth decode 8', 'A decode 8', 'Hearth decode 4', 'A decode 4'],
  ]);
  assert.equal(await decoded(false), ['Hearth prefill 1', 'Hearth decode 12', 'A decode 12']);
});

test('peers that have one text at a time sit out several requests, whose tokens and experts are those of all texts', async () => {
  const log: string[] = [];
  const requests = (name: string, tokenSeconds: number) => async (count: number, tokens: number) => {
    log.push(`${name} ${count} × ${tokens}`);
    return { seconds: tokens * tokenSeconds, processorSeconds: Number.NaN };
  };
  const hearth = { ...toyEngine(log, 'Hearth', 0), limits: async () => LIMITS, requests: requests('Hearth', 0.5) };
  const peers = [toyEngine(log, 'A', 0), { ...toyEngine(log, 'B', 0), requests: requests('B', 1) }];
  const discipline = { kind: 'requests', requests: 8, tokens: 4 } as const;
  const rounds = await contest(discipline, hearth, peers, { repetitions: 2 });
  assert.equal(log, ['Hearth 8 × 4', 'B 8 × 4', 'B 8 × 4', 'Hearth 8 × 4']);
  const model = createNamedModel(loadCatalogue(), 'OLMoE-1B-7B');
  const cell = cellOf({ discipline, type: 'Q4_K_M', threads: 1, model, rounds });
  assert.is(disciplineName(cell), '8 requests');
  assert.is(cell.hearth, 8 / 0.5);
  assert.equal(
    cell.peers.map(({ name, ratio }) => [name, ratio.median]),
    [['B', 2]],
  );
  // Eight texts choose 8 of 64 experts each: 64·(1 − (7/8)⁸) = 42 in a pass.
  const experts = decodeBytes(model, 8) - decodeBytes(model);
  const expert = (model.layers * (model.layer.routed[0]?.bytes ?? 0)) / 64;
  assert.ok(Math.abs(experts / expert - (64 * (1 - (7 / 8) ** 8) - 8)) < 1e-6);
  assert.ok(Math.abs(cell.share.median - (16 * decodeBytes(model, 8)) / 8 / LIMITS.readBandwidth) < 1e-9);
});

test('ratios and shares are of turns of the same round', () => {
  const model = createNamedModel(loadCatalogue(), 'TinyLlama-1.1B');
  const round = (hearth: number, peer: number, readBandwidth: number) => ({
    hearth: { seconds: hearth, processorSeconds: hearth },
    peers: new Map([['ik', peer]]),
    limits: { ...LIMITS, readBandwidth },
  });
  // The machine is half as fast in the second round, which is neither's merit.
  const rounds = [round(1, 2, 8e9), round(2, 4, 4e9), round(1, 1.5, 8e9)];
  const cell = cellOf({ discipline: { kind: 'decode', tokens: 8 }, type: 'Q4_K_M', threads: 1, model, rounds });
  assert.is(cell.hearth, 8);
  const [peer] = cell.peers;
  assert.is(peer?.name, 'ik');
  assert.is(peer?.tokensPerSecond, 4);
  assert.equal(peer?.ratio, { median: 2, lower: 1.75, upper: 2, least: 1.5, most: 2 });
  const share = (8 * decodeBytes(model)) / 8e9;
  assert.equal(cell.share, { median: share, lower: share, upper: share, least: share, most: share });
  assert.is(peer?.share.median, share / 2);
  assert.match(speedTable([cell]), /8\.00 .* 4\.00 .* 2\.00 \(1\.75–2\.00\)/);
});

test('a peer that has no cell in a row is a dash there', () => {
  const model = createNamedModel(loadCatalogue(), 'TinyLlama-1.1B');
  const round = { hearth: { seconds: 1, processorSeconds: 1 }, limits: LIMITS };
  const given = { discipline: { kind: 'prefill', tokens: 8 }, type: 'F16', threads: 1, model } as const;
  const alone = cellOf({ ...given, rounds: [{ ...round, peers: new Map() }] });
  const beside = cellOf({ ...given, rounds: [{ ...round, peers: new Map([['ik', 1]]) }] });
  assert.equal(alone.peers, []);
  assert.is(speedTable([alone, beside]).match(/–/g)?.length, 3 + 1);
});

test('quartiles are interpolated', () => {
  assert.equal(spreadOf([4, 1, 2, 3]), { median: 2.5, lower: 1.75, upper: 3.25, least: 1, most: 4 });
  assert.is(Number.isNaN(spreadOf([]).median), true);
});

test.run();
