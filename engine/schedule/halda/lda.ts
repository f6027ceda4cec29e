import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';

/**
 * The sets of devices in prima.cpp 3.2. M1 (macOS without Metal), M2 (macOS with Metal) and M3 (Linux and Android) are
 * short of RAM and have a fast disk; M4 have enough RAM, or a disk that is too slow to reload from.
 */
export type DeviceSet = 'M1' | 'M2' | 'M3' | 'M4';

/** The set of a device whose layers exceed its RAM. */
export function overloadSet(device: DeviceCosts): 'M1' | 'M2' | 'M3' {
  if (device.kind === 'macos') return 'M1';
  return device.kind === 'macos-metal' ? 'M2' : 'M3';
}

/** Whether the layers (l, l^gpu) exceed the device's RAM: the conditions of Cases 1–3 (prima.cpp A.3). */
export function overloads(costs: RingCosts, index: number, layers: number, gpuLayers: number): boolean {
  const device = costs.devices[index] as DeviceCosts;
  const counted = countsGpuLayers(device) ? layers : layers - gpuLayers;
  return counted * layerWithKv(costs) + headBytes(costs, index) > device.available;
}

/** b′ = b + 2 (h_k e_k + h_v e_v) n_kv: bytes of a layer's weights and KV cache. */
export function layerWithKv(costs: RingCosts): number {
  return costs.layerBytes + costs.kvBytes;
}

/**
 * The layer-to-device assignment as vectors: for W = Σw and k = L / W rounds minimise k (aᵀw + bᵀn + eᵀc) + κ subject
 * to P_w w′ + P_n n′ + W z ≤ 0 and n ≤ W z^gpu (prima.cpp Eqs. 6–10, 37–41).
 */
export interface VectorForm {
  /**
   * a: seconds per layer of the window; b: seconds added per GPU layer; c: seconds per window. One entry per device in
   * ring order.
   */
  readonly a: readonly number[];
  readonly b: readonly number[];
  readonly c: readonly number[];
  /** κ: seconds that don't depend on the decision variables, for these sets. */
  readonly kappa: number;
  /**
   * The rows of w′ and n′: M1, M2, M3, then M4 three times, once for each of Eqs. 30–32. Row r belongs to device
   * `rows[r]`; P_w and P_n are diagonal, given by their diagonals; z is in windows per W. A row of M4 whose equation is
   * for another operating system is all zeros.
   */
  readonly rows: readonly number[];
  readonly pw: readonly number[];
  readonly pn: readonly number[];
  readonly z: readonly number[];
  /** z^gpu: the share of W that fits on the GPU; 0 without a GPU (Eqs. 34–36). One entry per device. */
  readonly zGpu: readonly number[];
}

/** The vector form for a given assignment of devices to sets. */
export function vectorForm(costs: RingCosts, sets: readonly DeviceSet[]): VectorForm {
  const { devices } = costs;
  const coefficients = devices.map((device, index) => objectiveOf(costs, device, sets[index] ?? 'M4'));
  const constraint = constraintRows(costs, sets);
  return {
    a: coefficients.map(({ a }) => a),
    b: coefficients.map(({ b }) => b),
    c: devices.map((device, index) => device.windowCopy + costs.hop(index, (index + 1) % devices.length)),
    kappa: kappaOf(costs, sets),
    ...constraint,
    zGpu: devices.map((_, index) => gpuShare(costs, index)),
  };
}

function objectiveOf(costs: RingCosts, device: DeviceCosts, set: DeviceSet): { a: number; b: number } {
  const alpha = device.cpuLayer;
  const beta = lacksGpu(device) ? 0 : device.gpuLayer - device.cpuLayer;
  const reload = layerWithKv(costs) / device.reloadRate;
  switch (set) {
    case 'M1':
      return { a: alpha + reload, b: 0 };
    case 'M2':
      return { a: alpha + costs.layerBytes / device.reloadRate, b: beta };
    case 'M3':
      return { a: alpha + reload, b: beta - reload };
    case 'M4':
      return { a: alpha, b: beta };
  }
}

/**
 * κ, defined before the objective in Eq. 21: output layer and embedding lookup on the head, and constants of the
 * devices that are short of RAM.
 */
function kappaOf(costs: RingCosts, sets: readonly DeviceSet[]): number {
  const head = costs.devices[0] as DeviceCosts;
  const output = head.outputOnCpu.compute + head.outputOnCpu.memory;
  const reloadedOutput = sets[0] === 'M4' ? 0 : costs.outputBytes;
  let kappa = output + (costs.embeddingRowBytes + reloadedOutput) / head.reloadRate;
  costs.devices.forEach((device, index) => {
    if (sets[index] === 'M1' || sets[index] === 'M3')
      kappa += (device.ramBuffers - device.available) / device.reloadRate;
  });
  return kappa;
}

function constraintRows(costs: RingCosts, sets: readonly DeviceSet[]): Pick<VectorForm, 'rows' | 'pw' | 'pn' | 'z'> {
  const { devices } = costs;
  const rows: number[] = [];
  const pw: number[] = [];
  const pn: number[] = [];
  const z: number[] = [];
  const add = (index: number, windowSign: -1 | 0 | 1): void => {
    const device = devices[index] as DeviceCosts;
    const room = (device.available - headBytes(costs, index)) / (costs.layers * layerWithKv(costs));
    rows.push(index);
    pw.push(windowSign || 0);
    pn.push(countsGpuLayers(device) ? 0 : -windowSign || 0);
    z.push(-windowSign * room || 0);
  };
  const inSet = (set: DeviceSet): number[] => devices.map((_, index) => index).filter((index) => sets[index] === set);
  for (const set of ['M1', 'M2', 'M3'] as const) for (const index of inSet(set)) add(index, -1);
  for (const set of ['M1', 'M2', 'M3'] as const) {
    for (const index of inSet('M4')) add(index, overloadSet(devices[index] as DeviceCosts) === set ? 1 : 0);
  }
  return { rows, pw, pn, z };
}

/** Bytes of b^cio (Eq. 33), and of c^gpu if CPU and GPU share the memory (Eqs. 28, 31). */
function headBytes(costs: RingCosts, index: number): number {
  const device = costs.devices[index] as DeviceCosts;
  return device.ramBuffers + (index === 0 ? costs.embeddingRowBytes + costs.outputBytes : 0);
}

/**
 * Whether GPU layers count against the device's memory: with Metal all layers do (Eqs. 28, 31), and devices of M1 have
 * none on a GPU.
 */
function countsGpuLayers(device: DeviceCosts): boolean {
  return device.kind === 'macos-metal' || device.kind === 'macos';
}

/** Whether a device has neither CUDA nor Metal, and so no GPU layers (Eq. 36). */
function lacksGpu(device: DeviceCosts): boolean {
  return device.gpu === undefined || (device.unified && device.kind !== 'macos-metal');
}

function gpuShare(costs: RingCosts, index: number): number {
  const device = costs.devices[index] as DeviceCosts;
  if (lacksGpu(device)) return 0;
  const reserved = device.kind === 'macos-metal' && index === 0 ? costs.outputBytes : 0;
  return Math.max(0, device.gpuRoom - reserved) / (costs.layers * layerWithKv(costs));
}
