import { loadAddon, type NativeAddon } from '../../engine/kernels/native/addon.ts';
import { testIf } from '../support/needs.ts';

const addon = loadAddon();

/** The addon's instruction sets that this processor supports; none without the addon. */
export const NATIVE_SETS: readonly string[] = typeof addon === 'string' ? [] : addon.instructionSets();

/** A test of the native kernels: skipped, with the reason, if the addon wasn't built. */
export function testNative(name: string, body: (native: NativeAddon) => void): void {
  testIf(typeof addon !== 'string', `native kernels: ${addon}`, name, () => body(addon as NativeAddon));
}
