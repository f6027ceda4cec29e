import { ACTIVATIONS, ROUTER_SCORES } from '../../model/feed-forward.ts';
import { productThenScale } from '../expert-operations.ts';
import type { Multiplied } from '../multiplied.ts';
import type { ColumnsOf, Operation } from '../operation.ts';
import type { Vector } from '../vector.ts';

/** A command's first number, and the operands that follow it (native/operations/commands.hpp). */
export interface Command {
  readonly code: number;
  readonly operands: string;
}

/** The commands of the operations. The addon has the same list, and a test compares the two. */
export const COMMANDS: Readonly<Record<Operation['kind'], Command>> = {
  embed: { code: 0, operands: 'matrix vector tokens' },
  'rms-norm': { code: 1, operands: 'vector vector vector number count' },
  multiply: { code: 2, operands: 'matrix vector vector vector? flag count flag' },
  rope: { code: 3, operands: 'vector vector count count flag' },
  store: { code: 4, operands: 'cache vector vector count' },
  attention: { code: 5, operands: 'cache vector vector count count number count count vector?' },
  gate: { code: 6, operands: 'vector vector vector count' },
  softmax: { code: 7, operands: 'vector vector count' },
  add: { code: 8, operands: 'vector vector number' },
  'attend-pages': {
    code: 9,
    operands: 'pages vector vector vector vector count count number flag count count vector?',
  },
  'divide-rows': { code: 10, operands: 'vector vector' },
  'top-k': { code: 11, operands: 'vector vector count' },
  scale: { code: 12, operands: 'vector number' },
  'soft-cap': { code: 13, operands: 'vector number' },
  route: { code: 14, operands: 'vector vector? vector? vector count count count flag number count count' },
  'multiply-experts': { code: 15, operands: 'matrix count count vector count vector vector vector? count' },
  'combine-experts': { code: 16, operands: 'vector vector count vector flag' },
  'gate-rows': { code: 17, operands: 'vector vector' },
  'copy-columns': { code: 18, operands: 'vector count count vector count count count count' },
  convolve: { code: 19, operands: 'vector vector count vector? vector vector flag' },
  'delta-rule': {
    code: 20,
    operands: 'vector vector vector vector vector vector vector count count count flag number',
  },
  'selective-scan': {
    code: 21,
    operands: 'vector vector vector vector vector vector vector count count count count',
  },
  'scale-experts': { code: 22, operands: 'vector vector vector? vector' },
};

const NO_WINDOW = 0;

/** Among all experts. */
const ONE_GROUP = { count: 1, used: 1 };

/** Commands one after another, in an array that grows and is reused. */
export interface CommandBuffer {
  numbers: Float64Array;
  count: number;
}

/** Appends an operation's command, its operands in the order of COMMANDS. */
export function encode(buffer: CommandBuffer, operation: Operation): void {
  if (operation.kind === 'multiply-experts' && operation.scales !== undefined) {
    for (const step of productThenScale(operation)) encode(buffer, step);
    return;
  }
  push(buffer, COMMANDS[operation.kind].code);
  switch (operation.kind) {
    case 'embed':
      push(buffer, operation.table.id);
      pushVector(buffer, operation.y);
      push(buffer, operation.tokens.length);
      for (const token of operation.tokens) push(buffer, token);
      return;
    case 'rms-norm':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.weight);
      pushVector(buffer, operation.y);
      push(buffer, operation.epsilon);
      push(buffer, operation.width ?? operation.weight.values.length);
      return;
    case 'multiply':
      push(buffer, operation.matrix.id);
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.y);
      pushVector(buffer, operation.bias);
      push(buffer, operation.accumulate === true ? 1 : 0);
      pushWay(buffer, operation.multiplied);
      push(buffer, operation.finely === true ? 1 : 0);
      return;
    case 'rope':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.angles);
      push(buffer, operation.heads);
      push(buffer, operation.headSize);
      push(buffer, operation.pairs === 'halves' ? 1 : 0);
      return;
    case 'store':
      push(buffer, operation.cache.id);
      pushVector(buffer, operation.keys);
      pushVector(buffer, operation.values);
      push(buffer, operation.position);
      return;
    case 'attention':
      push(buffer, operation.cache.id);
      pushVector(buffer, operation.queries);
      pushVector(buffer, operation.y);
      push(buffer, operation.heads);
      push(buffer, operation.position);
      push(buffer, operation.scale);
      pushWay(buffer, operation.multiplied);
      push(buffer, operation.window ?? NO_WINDOW);
      pushVector(buffer, operation.sinks);
      return;
    case 'attend-pages':
      push(buffer, operation.pages.length);
      for (const { cache, first, count } of operation.pages) {
        push(buffer, cache.id);
        push(buffer, first);
        push(buffer, count);
      }
      pushVector(buffer, operation.queries);
      pushVector(buffer, operation.y);
      pushVector(buffer, operation.largest);
      pushVector(buffer, operation.totals);
      push(buffer, operation.heads);
      push(buffer, operation.position);
      push(buffer, operation.scale);
      push(buffer, operation.begins ? 1 : 0);
      pushWay(buffer, operation.multiplied);
      push(buffer, operation.window ?? NO_WINDOW);
      pushVector(buffer, operation.sinks);
      return;
    case 'divide-rows':
      pushVector(buffer, operation.divisors);
      pushVector(buffer, operation.y);
      return;
    case 'gate':
      pushVector(buffer, operation.gate);
      pushVector(buffer, operation.up);
      pushVector(buffer, operation.y);
      push(buffer, ACTIVATIONS.indexOf(operation.activation));
      return;
    case 'softmax':
    case 'top-k':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.y);
      push(buffer, operation.width);
      return;
    case 'add':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.y);
      push(buffer, operation.factor ?? 1);
      return;
    case 'scale':
      pushVector(buffer, operation.y);
      push(buffer, operation.factor);
      return;
    case 'soft-cap':
      pushVector(buffer, operation.y);
      push(buffer, operation.cap);
      return;
    case 'route': {
      const { experts, used, scores, normalised, factor = 1, groups = ONE_GROUP } = operation.router;
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.bias);
      pushVector(buffer, operation.scales);
      pushVector(buffer, operation.y);
      push(buffer, experts);
      push(buffer, used);
      push(buffer, ROUTER_SCORES.indexOf(scores));
      push(buffer, normalised ? 1 : 0);
      push(buffer, factor);
      push(buffer, groups.count);
      push(buffer, groups.used);
      return;
    }
    case 'multiply-experts':
      push(buffer, operation.matrix.id);
      push(buffer, operation.experts);
      push(buffer, operation.rows);
      pushVector(buffer, operation.routes);
      push(buffer, operation.used);
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.y);
      pushVector(buffer, operation.bias);
      pushWay(buffer, operation.multiplied);
      return;
    case 'scale-experts':
      pushVector(buffer, operation.routes);
      pushVector(buffer, operation.scales);
      pushVector(buffer, operation.bias);
      pushVector(buffer, operation.y);
      return;
    case 'combine-experts':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.routes);
      push(buffer, operation.used);
      pushVector(buffer, operation.y);
      push(buffer, operation.accumulate === true ? 1 : 0);
      return;
    case 'gate-rows':
      pushVector(buffer, operation.gate);
      pushVector(buffer, operation.y);
      return;
    case 'copy-columns':
      pushColumns(buffer, operation.x);
      pushColumns(buffer, operation.y);
      push(buffer, operation.columns);
      push(buffer, operation.repeats ?? 1);
      return;
    case 'convolve':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.weight);
      push(buffer, operation.width);
      pushVector(buffer, operation.bias);
      pushVector(buffer, operation.state);
      pushVector(buffer, operation.y);
      push(buffer, operation.activation === 'silu' ? 1 : 0);
      return;
    case 'delta-rule':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.strength);
      pushVector(buffer, operation.decay);
      pushVector(buffer, operation.decayBias);
      pushVector(buffer, operation.rate);
      pushVector(buffer, operation.state);
      pushVector(buffer, operation.y);
      push(buffer, operation.keyHeads);
      push(buffer, operation.valueHeads);
      push(buffer, operation.size);
      push(buffer, operation.order === 'apart' ? 1 : 0);
      push(buffer, operation.epsilon);
      return;
    case 'selective-scan':
      pushVector(buffer, operation.x);
      pushVector(buffer, operation.step);
      pushVector(buffer, operation.stepBias);
      pushVector(buffer, operation.rate);
      pushVector(buffer, operation.skip);
      pushVector(buffer, operation.state);
      pushVector(buffer, operation.y);
      push(buffer, operation.heads);
      push(buffer, operation.headSize);
      push(buffer, operation.groups);
      push(buffer, operation.stateSize);
      return;
  }
}

function push(buffer: CommandBuffer, value: number): void {
  if (buffer.count === buffer.numbers.length) {
    const larger = new Float64Array(2 * buffer.numbers.length);
    larger.set(buffer.numbers);
    buffer.numbers = larger;
  }
  buffer.numbers[buffer.count++] = value;
}

function pushWay(buffer: CommandBuffer, multiplied: Multiplied | undefined): void {
  push(buffer, multiplied === undefined ? 0 : multiplied === 'singly' ? 1 : 2);
}

function pushColumns(buffer: CommandBuffer, { values, width, first }: ColumnsOf): void {
  pushVector(buffer, values);
  push(buffer, width);
  push(buffer, first);
}

/** Number, offset and length; number −1 for a missing vector. */
function pushVector(buffer: CommandBuffer, vector: Vector | undefined): void {
  push(buffer, vector?.id ?? -1);
  push(buffer, vector?.offset ?? 0);
  push(buffer, vector?.values.length ?? 0);
}
