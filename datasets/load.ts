import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CatalogueModel, parseModels } from '../engine/gguf/parse-models.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { type CataloguePart, parseDevices } from '../engine/hardware/parse-devices.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import { parseJson } from '../engine/input/parse-json.ts';
import { FILE_MIXES, type Mix } from '../engine/model/mix.ts';
import { createModel, type Model } from '../engine/model/model.ts';
import { createW4a16Model } from '../engine/model/w4a16.ts';
import { parsePlan } from '../engine/plan/parse-plan.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { type MeasuredRun, parseMeasuredRuns } from './measured.ts';
import { type PublishedCell, parsePublished } from './published.ts';
import { readText } from './read-text.ts';
import { parseRegister, type RegisteredError } from './register.ts';
import { clusterStatements, type Statement } from './statements.ts';

/** The papers whose numbers are on file, the newest version first: if two print the same cell, the first counts. */
const PAPERS = ['prima-cpp', 'prima-cpp-v1', 'helm', 'heterollm'] as const;

/** Advice about a missing file of this project. */
const RESTORE = 'it belongs to this project; restore it';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Keys of the clusters on file, sorted. */
export function clusterKeys(): string[] {
  const files = readdirSync(path('clusters/')).filter((name) => name.endsWith('.json'));
  return files.map((name) => name.slice(0, -'.json'.length)).sort();
}

/** A cluster, and the quantities of its file as written, for reports. */
export interface LoadedCluster {
  readonly cluster: Cluster;
  readonly statements: readonly Statement[];
}

/**
 * A cluster by its key in datasets/clusters, or by the path of a JSON file (anything with a slash or a dot).
 * @param flag the option it was named with, for messages
 * @throws InputError for unknown keys (with the nearest), missing or oversized files, and mistakes in them
 */
export function loadCluster(keyOrPath: string, flag = '--cluster'): Cluster {
  return loadClusterFile(keyOrPath, flag).cluster;
}

/** As loadCluster, with the quantities that the file states. @throws InputError */
export function loadClusterFile(keyOrPath: string, flag = '--cluster'): LoadedCluster {
  const keys = clusterKeys();
  const known = keys.includes(keyOrPath);
  if (!known && !/[./\\]/.test(keyOrPath) && !existsSync(keyOrPath)) {
    throw new InputError(flag, `no cluster is called "${keyOrPath}"${suggestion(keyOrPath, keys)}`);
  }
  const text = known
    ? readText(path(`clusters/${keyOrPath}.json`), RESTORE)
    : readText(keyOrPath, `give the path of a cluster file, or one of ${keys.join(', ')}`);
  const file = known ? `datasets/clusters/${keyOrPath}.json` : keyOrPath;
  return { cluster: parseCluster(text, file), statements: clusterStatements(parseJson(text, file)) };
}

/** The catalogue of devices and parts on file. @throws InputError */
export function loadDevices(): CataloguePart[] {
  return parseDevices(readText(path('devices.csv'), RESTORE), 'datasets/devices.csv');
}

/**
 * The catalogue of models on file.
 * @param own a file of the same columns, whose models come first, and in place of those of the same name
 * @throws InputError
 */
export function loadCatalogue(own?: string): CatalogueModel[] {
  const all = parseModels(readText(path('models.csv'), RESTORE), 'datasets/models.csv');
  if (own === undefined) return all;
  const models = loadModels(own);
  const names = models.map(({ shape }) => shape.name);
  return [...models, ...all.filter(({ shape }) => !names.includes(shape.name))];
}

/** The models of somebody's own file, with the columns of datasets/models.csv. @throws InputError */
export function loadModels(file: string): CatalogueModel[] {
  return parseModels(readText(file, 'give a CSV with the columns of datasets/models.csv'), file);
}

/**
 * A model by name, with the mix after a colon where it is not the catalogue's: `Llama-3-8B` or `Llama-3-8B:Q8_0`. Names
 * may have colons of their own.
 * @param flag the option it was named with, for messages
 * @throws InputError for unknown names and mixes, with the nearest
 */
export function createNamedModel(catalogue: readonly CatalogueModel[], name: string, flag = '--models'): Model {
  const colon = name.lastIndexOf(':');
  if (colon < 0 || isNamed(catalogue, name)) {
    const { shape, defaultMix } = catalogueModel(catalogue, name, flag);
    return createModel(shape, defaultMix);
  }
  const [base, wanted] = [name.slice(0, colon), name.slice(colon + 1)];
  const { shape } = catalogueModel(catalogue, base, flag);
  const mix = FILE_MIXES.find((candidate) => candidate === wanted);
  if (mix === undefined)
    throw new InputError(flag, `${base}: no mix is called "${wanted}"${suggestion(wanted, FILE_MIXES)}`);
  return createModel(shape, mix);
}

/** The format of the checkpoints that HELM runs. Published: HELM 4.1.1, two bytes a weight. */
export const HELM_MIX: Mix = 'BF16';

/** The format in which the papers ran a model of the catalogue: Qwen3 is HELM's, the others are in their default. */
export function publishedMix({ shape, defaultMix }: CatalogueModel): Mix {
  return shape.architecture === 'qwen3' ? HELM_MIX : defaultMix;
}

/** As createNamedModel, but in HELM_MIX where the name has no mix. */
export function createHelmModel(catalogue: readonly CatalogueModel[], name: string, flag?: string): Model {
  return createNamedModel(catalogue, isNamed(catalogue, name) ? `${name}:${HELM_MIX}` : name, flag);
}

/**
 * A model of the catalogue in W4A16, the format that HeteroLLM runs.
 * @param flag the option it was named with, for messages
 * @throws InputError for an unknown name, with the nearest
 */
export function namedW4a16Model(catalogue: readonly CatalogueModel[], name: string, flag = '--model'): Model {
  return createW4a16Model(catalogueModel(catalogue, name, flag).shape);
}

const isNamed = (catalogue: readonly CatalogueModel[], name: string): boolean =>
  catalogue.some(({ shape }) => shape.name === name);

function catalogueModel(catalogue: readonly CatalogueModel[], name: string, flag: string): CatalogueModel {
  const found = catalogue.find(({ shape }) => shape.name === name);
  if (found !== undefined) return found;
  const names = catalogue.map(({ shape }) => shape.name);
  throw new InputError(flag, `no model is called "${name}"${suggestion(name, names)}`);
}

/** A plan from a file that a sweep or a person wrote. @throws InputError */
export function loadPlan(file: string): Plan {
  return parsePlan(readText(file, 'give a plan (JSON), such as a sweep writes to plans/'), file);
}

/** Every published number on file, paper by paper. @throws InputError */
export function loadPublished(): PublishedCell[] {
  return PAPERS.flatMap((paper) => {
    const file = `published/${paper}.csv`;
    return parsePublished(readText(path(file), RESTORE), `datasets/${file}`);
  });
}

/** The register of choices that were made after a cell was seen, and of first errors (PROTOCOL.md). @throws InputError */
export function loadRegister(): RegisteredError[] {
  const file = 'published/register.csv';
  return parseRegister(readText(path(file), RESTORE), `datasets/${file}`);
}

/** Rings that were measured once, prima.cpp's own program among them. @throws InputError for mistakes in the file */
export function loadMeasuredRuns(): MeasuredRun[] {
  const file = 'datasets/measured/versus-prima.csv';
  return parseMeasuredRuns(readText(path('measured/versus-prima.csv'), RESTORE), file);
}
