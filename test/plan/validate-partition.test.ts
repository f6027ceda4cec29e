import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan, type PlanParts } from '../../engine/plan/create-plan.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { cutKind, type OperatorCut, type TensorPartition } from '../../engine/plan/tensor-partition.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { tensorPartition } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { TOY_CHIP_MODEL, toyChip } from '../support/toy-chip.ts';
import { toyCluster, toyDevice } from '../support/toy-cluster.ts';

const CLUSTER = toyCluster([toyChip(), toyDevice('pc')]);
const WORKLOAD = createWorkload({ promptTokens: 10 });
const PLAN = tensorPartition({ belief: CLUSTER, model: TOY_CHIP_MODEL, workload: WORKLOAD }).plan as Plan;
const STAGE = PLAN.stages[0] as Stage;
const PARTITION = STAGE.partition as TensorPartition;

const messageOf = (wrong: PlanParts): string => {
  try {
    validatePlan(createPlan(wrong, 'my.json'), CLUSTER, TOY_CHIP_MODEL, 'my.json');
  } catch (error) {
    return (error as Error).message;
  }
  return 'valid';
};
const withStage = (given: Partial<Stage>, rest: Partial<PlanParts> = {}): string =>
  messageOf({ ...PLAN, ...rest, stages: [{ ...STAGE, ...given }] });
const withPartition = (given: Partial<TensorPartition>): string => withStage({ partition: { ...PARTITION, ...given } });
const withQkv = (qkv: OperatorCut): string => withPartition({ prefill: { ...PARTITION.prefill, qkv } });

test('a plan of the solver is valid and survives JSON', () => {
  assert.is(messageOf(PLAN), 'valid');
  assert.equal(parsePlan(JSON.stringify(PLAN), 'my.json'), { ...PLAN, stages: [{ ...STAGE }] });
});

test('cuts of 100 rows and 300 tokens have the names of HeteroLLM 4.1', () => {
  const kind = (npuRows: number, ...npuLengths: number[]) => cutKind({ npuRows, npuLengths }, 100, 300);
  assert.is(kind(0), 'gpu');
  assert.is(kind(100, 512), 'npu');
  assert.is(kind(100, 256), 'sequence');
  assert.is(kind(100, 128, 64), 'multi-sequence');
  assert.is(kind(40, 256), 'hybrid');
  assert.is(kind(40, 512), 'hybrid');
  assert.is(cutKind({ npuRows: 40, npuLengths: [256] }, 100, 256), 'row');
});

test('rows and graphs out of range are refused', () => {
  const place = 'my.json: stages[0].partition.prefill.qkv';
  assert.is(
    withQkv({ npuRows: 17, npuLengths: [4] }),
    `${place}.npuRows: 17 is not a whole number between 0 and the 16 rows`,
  );
  assert.is(
    withQkv({ npuRows: 1.5, npuLengths: [4] }),
    `${place}.npuRows: 1.5 is not a whole number between 0 and the 16 rows`,
  );
  assert.is(withQkv({ npuRows: 8, npuLengths: [] }), `${place}.npuLengths: are missing; name a graph`);
  assert.is(
    withQkv({ npuRows: 0, npuLengths: [4] }),
    `${place}.npuLengths: are given, but the NPU has no rows; remove them`,
  );
  assert.is(
    withQkv({ npuRows: 8, npuLengths: [5] }),
    `${place}.npuLengths: 5 is not a graph that is prepared: 16, 8, 4`,
  );
  assert.is(
    withPartition({ decode: { ...PARTITION.decode, output: { npuRows: 4, npuLengths: [4] } } }),
    'my.json: stages[0].partition.decode.output.npuLengths: 4 is not a graph that is prepared: 1',
  );
  assert.is(
    withPartition({ graphs: 'online', prefill: { ...PARTITION.prefill, qkv: { npuRows: 8, npuLengths: [5] } } }),
    'valid',
  );
});

test('a prompt of one token runs on the graphs of decoding', () => {
  const one = { promptTokens: 1, prefill: { ...PARTITION.prefill, qkv: { npuRows: 8, npuLengths: [1] } } };
  assert.is(withPartition(one), 'valid');
  assert.match(withPartition({ ...one, promptTokens: 2 }), /npuLengths: 1 is not a graph that is prepared: 16, 8, 4/);
});

test('prompts without tokens or with too many are refused', () => {
  const place = 'my.json: stages[0].partition.promptTokens';
  assert.is(withPartition({ promptTokens: 0 }), `${place}: 0 is not a whole number between 1 and 1000000`);
  assert.is(withPartition({ promptTokens: 2e6 }), `${place}: 2000000 is not a whole number between 1 and 1000000`);
});

test('a partition is only valid on the GPU of a chip with an NPU', () => {
  assert.match(withStage({ streamed: 'ahead' }), /streamed/);
  assert.match(withStage({}, { kvCache: 'host' }), /kvCache: is "host"; the memory is shared: use "with-layers"/);
  assert.match(withStage({ processor: 'cpu' }), /processor: is "cpu"; GPU and NPU share operators: use "gpu"/);
  assert.match(withStage({}, { output: { device: 'chip', processor: 'cpu' } }), /output: is elsewhere/);
  const halves = [
    { ...STAGE, to: 1 },
    { ...STAGE, from: 1 },
  ];
  assert.match(
    messageOf({ ...PLAN, stages: halves }),
    /output: lacks the "partition" that the rest of the GPU of "chip" has/,
  );
  const onPc = { device: 'pc', processor: 'gpu' } as const;
  assert.match(messageOf({ ...PLAN, stages: [{ ...STAGE, ...onPc }] }), /"pc" has no GPU/);
});

test('an unknown operator or kind of synchronisation in a file is refused', () => {
  const parse = (partition: unknown): string => {
    try {
      parsePlan(JSON.stringify({ ...PLAN, stages: [{ ...STAGE, partition }] }), 'my.json');
    } catch (error) {
      return (error as Error).message;
    }
    return 'parsed';
  };
  assert.match(
    parse({ ...PARTITION, synchronisation: 'slow' }),
    /partition.synchronisation: unknown "slow"; allowed: fast, naive/,
  );
  const { qkv, ...others } = PARTITION.prefill;
  assert.match(parse({ ...PARTITION, prefill: { ...others, qvk: qkv } }), /prefill.qkv: is missing.*found "qvk"/);
});

test.run();
