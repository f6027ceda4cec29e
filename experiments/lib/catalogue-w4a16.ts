import { InputError, suggestion } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { CatalogueModel } from '../../engine/model/parse-models.ts';
import { createW4a16Model } from '../../engine/model/w4a16.ts';

/**
 * A model of the catalogue in W4A16, as HeteroLLM runs it.
 * @param flag the option it was named with, for messages
 * @throws InputError for an unknown name, with the nearest
 */
export function namedW4a16Model(catalogue: readonly CatalogueModel[], name: string, flag = '--model'): Model {
  const found = catalogue.find(({ shape }) => shape.name === name);
  if (found !== undefined) return createW4a16Model(found.shape);
  const names = catalogue.map(({ shape }) => shape.name);
  throw new InputError(flag, `no model is called "${name}"${suggestion(name, names)}`);
}
