import csv from '../../datasets/devices.csv?raw';
import { type CataloguePart, parseDevices } from '../../engine/hardware/parse-devices.ts';

/** The catalogue of devices and parts for the browser, read when the site is built. */
export const DEVICES: readonly CataloguePart[] = parseDevices(csv, 'datasets/devices.csv');
