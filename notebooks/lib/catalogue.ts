import modelsCsv from '../../datasets/models.csv?raw';
import { type CatalogueModel, isPublished, parseModels, usualMix } from '../../engine/gguf/parse-models.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { createW4a16Model } from '../../engine/model/w4a16.ts';

/** The datasets for the browser, read when the site is built. */

const files = import.meta.glob<string>('../../datasets/clusters/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const models = parseModels(modelsCsv, 'datasets/models.csv');

/** Names of the clusters on file, sorted. */
export const CLUSTERS: readonly string[] = Object.keys(files)
  .map((file) => file.replace(/^.*\/|\.json$/g, ''))
  .sort();
/** Names of the models on file that people can download. */
export const MODELS: readonly string[] = models.filter(isPublished).map(({ shape }) => shape.name);

/** The file of a cluster by its key in datasets/clusters. @throws RangeError if there is none */
export function clusterText(key: string): string {
  const text = files[`../../datasets/clusters/${key}.json`];
  if (text === undefined) throw new RangeError(`no cluster is called "${key}"`);
  return text;
}

/** A cluster by its key in datasets/clusters. @throws RangeError if there is none */
export function cluster(key: string): Cluster {
  return parseCluster(clusterText(key), `datasets/clusters/${key}.json`);
}

/** A model of datasets/models.csv in the mix in which people usually run it. @throws RangeError if there is none */
export function usualModel(name: string): Model {
  return createModel(shapeOf(name), usualMix(rowOf(name)));
}

/** A model of datasets/models.csv in a mix. @throws RangeError if there is none */
export function model(name: string, mix: FileMix = 'Q4_K_M'): Model {
  return createModel(shapeOf(name), mix);
}

/** A model of datasets/models.csv as HeteroLLM stores it (W4A16). @throws RangeError if there is none */
export function w4a16Model(name: string): Model {
  return createW4a16Model(shapeOf(name));
}

function shapeOf(name: string): Shape {
  return rowOf(name).shape;
}

function rowOf(name: string): CatalogueModel {
  const found = models.find(({ shape }) => shape.name === name);
  if (found === undefined) throw new RangeError(`no model is called "${name}"`);
  return found;
}
