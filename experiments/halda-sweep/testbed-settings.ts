import type { PublishedCell } from '../../datasets/published.ts';
import { publishedTpot } from '../../datasets/published-systems.ts';
import type { Testbed } from '../../datasets/testbeds.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { primaOptions } from '../papers/prima/options.ts';
import { programOf, settingsOf } from '../papers/prima/settings.ts';
import type { Setting } from './sweep.ts';

export interface TestbedCase {
  readonly testbed: Testbed;
  /** The devices as the paper states them. */
  readonly stated: Cluster;
  readonly published: readonly PublishedCell[];
}

/**
 * How a paper's testbed was set for a model and a scheduler, as when its tables are reproduced: the program's KV cache
 * and buffers, and the head of the ring in prima.cpp's runs of that model.
 */
export function testbedSettings({ testbed, stated, published }: TestbedCase) {
  return (model: Model, scheduler: string): Partial<Setting> => {
    const program = programOf(scheduler);
    // prima.cpp ran the same program for all ways to divide its layers.
    const name = program === programOf('halda-program') ? 'halda' : scheduler;
    const cell = publishedTpot(published, { scheduler: name, cluster: stated.name, model: model.name })?.cell;
    return settingsOf({ testbed, stated, published, options: primaOptions({}), program, cell, model });
  };
}
