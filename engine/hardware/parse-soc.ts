import { InputError } from '../input/input-error.ts';
import type { Fields } from '../input/read-fields.ts';
import type { NpuArray, ProcessorPower, Soc } from './device.ts';

/** Reads a device's `soc`. @throws InputError with file and place */
export function readSoc(fields: Fields): Soc {
  const gpu = fields.object('gpu');
  const synchronisation = fields.object('synchronisation');
  const power = fields.object('power');
  const soc: Soc = {
    bandwidth: fields.quantity('bandwidth', 'rate'),
    npu: readArray(fields.object('npu')),
    gpu: {
      queued: gpu.quantity('queued', 'time'),
      drained: gpu.quantity('drained', 'time'),
      dequantise: gpu.quantity('dequantise', 'rate'),
    },
    synchronisation: {
      copy: synchronisation.quantity('copy', 'time'),
      sleep: synchronisation.quantity('sleep', 'time'),
      poll: synchronisation.quantity('poll', 'time'),
      notify: synchronisation.quantity('notify', 'time'),
    },
    power: {
      idle: power.quantity('idle', 'power'),
      gpu: readPower(power.object('gpu')),
      npu: readPower(power.object('npu')),
    },
  };
  for (const part of [gpu, synchronisation, power, fields]) part.end();
  return soc;
}

function readPower(fields: Fields): ProcessorPower {
  const power = { calculating: fields.quantity('calculating', 'power'), waiting: fields.quantity('waiting', 'power') };
  fields.end();
  return power;
}

function readArray(fields: Fields): NpuArray {
  const array = {
    tile: fields.count('tile'),
    onChip: fields.quantity('onChip', 'size'),
    dequantise: fields.quantity('dequantise', 'rate'),
    shortestGraph: fields.count('shortestGraph'),
    longestGraph: fields.count('longestGraph'),
    graphBase: fields.quantity('graphBase', 'time'),
    graphRate: fields.quantity('graphRate', 'compute'),
  };
  const doublings = Math.log2(array.longestGraph / array.shortestGraph);
  if (!(Number.isInteger(doublings) && doublings >= 0)) {
    const found = `${array.longestGraph} is not ${array.shortestGraph} doubled some times`;
    throw new InputError(fields.place('longestGraph'), `${found}; each graph is twice as long as the one before`);
  }
  if (array.shortestGraph % array.tile !== 0) {
    const found = `${array.shortestGraph} isn’t a multiple of the tile (${array.tile})`;
    throw new InputError(fields.place('shortestGraph'), `${found}; such a graph would compute padding`);
  }
  fields.end();
  return array;
}
