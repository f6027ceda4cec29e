import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { routingText } from '../../engine/experts/write-routing.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { isVector } from '../../engine/model/mix.ts';
import { readBytes } from '../../engine/model/model.ts';
import { measureRing } from '../../experiments/experts/measure-ring.ts';
import {
  ringAnswers,
  ringCluster,
  ringDevices,
  ringFindings,
  ringPlanOf,
} from '../../experiments/experts/ring-answers.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testIf } from '../support/needs.ts';

const NAME = 'gpt-oss-MXFP4';
const [TOKENS, WARM_UP] = [12, 6];
const POLICY: ExpertsPolicy = { ...USUAL_EXPERTS, slots: 5, hitsFirst: true, lookahead: { kind: 'previous-token' } };

testIf(
  NATIVE_SETS.length > 0 && hasGoldenArchitecture(NAME),
  'the native kernels or the golden models are missing',
  'devices of a measured ring read what their caches do in a replay, a prediction and a simulation, byte by byte',
  async () => {
    const path = goldenArchitecturePath(NAME);
    const model = withFile(path, (bytes) => modelFromGguf(readGguf(bytes)));
    const folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
    try {
      const shape = { layers: 4, experts: 8 };
      const routing = drawRouting({
        ...{ tokens: TOKENS, used: 4, seed: 2, popularity: zipfPopularity({ ...shape, seed: 1 }, 0.8) },
        recurrence: { previous: 0.2, recent: 0.15, window: 8 },
      });
      const file = join(folder, 'routing.json');
      writeFileSync(file, routingText(NAME, routing));
      const devices = ringDevices(2, 4);
      const plan = ringPlanOf(devices, POLICY);
      const task = { model: path, routing: file, memory: 2 ** 28, threads: 1, tokens: TOKENS, warmUp: WARM_UP };
      const limits = { memory: 2 ** 30, diskRate: 1e9, cores: 1 };
      const measured = await measureRing({ ...task, plan, devices }, { ground: undefined, limits });
      assert.is(measured.seconds.length, TOKENS);
      const expertBytes = model.layer.routed.reduce((sum, { bytes, experts }) => sum + bytes / experts, 0);
      const matrices = model.tensors.filter((one) => one.layer === 0 && one.experts !== undefined && !isVector(one));
      const matrixBytes = matrices.reduce((sum, { bytes, experts = 1 }) => sum + bytes / experts, 0);
      const known = {
        mixture: { ...shape, used: 4, expertBytes, readsPerExpert: 3, denseBytes: readBytes(model.layer, 0) * 4 },
        seconds: { layer: 1e-4, expert: 1e-5, other: 0 },
        disk: { latency: 80e-6, bandwidth: 1e9 },
        ...{ available: 2 ** 30, buffers: 2 ** 28, unthrottled: undefined, pageSeconds: 0 },
      };
      const cluster = ringCluster(devices, known, measured.links);
      const one = { policy: POLICY, routing, tokens: TOKENS, warmUp: WARM_UP, devices, cluster, model, known };
      const rows = ringAnswers(one, measured);
      assert.equal(
        rows.map(({ device, needs, different }) => ({ device, needs, different })),
        [
          { device: 'head', needs: 96, different: 0 },
          { device: 'worker-1', needs: 96, different: 0 },
          { device: 'the ring', needs: 192, different: 0 },
        ],
      );
      for (const { device, bytes } of rows) {
        // Biases of this mixture's experts count as their bytes, but stay in memory.
        const read = (bytes.measured * expertBytes) / matrixBytes;
        for (const answer of [bytes.replayed, bytes.predicted, bytes.simulated])
          assert.ok(Math.abs((answer ?? 0) / read - 1) < 1e-9, `${device}: ${JSON.stringify(bytes)}`);
      }
      assert.match(ringFindings(rows)[0] ?? '', /^0 tokens of 2 devices with slots, with 192 accesses/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test.run();
