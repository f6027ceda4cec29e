import { loadAddon, type NativeAddon } from '../../engine/kernels/native/addon.ts';
import { testIf } from '../support/needs.ts';

const addon = loadAddon();

/** The instruction sets of the built addon that this processor has; none without the addon. */
export const NATIVE_SETS: readonly string[] = typeof addon === 'string' ? [] : addon.instructionSets();

/** A test of the native kernels: skipped, with the reason, where the addon wasn't built. */
export function testNative(name: string, body: (native: NativeAddon) => void): void {
  testIf(typeof addon !== 'string', `native kernels: ${addon}`, name, () => body(addon as NativeAddon));
}
