// How a template reads attributes and items, and finds filters and tests.
const { FILTERS } = require('./filters.cjs');
const { Loop } = require('./loop.cjs');
const { methodOf } = require('./methods.cjs');
const { TESTS } = require('./tests.cjs');
const {
  characters,
  fail,
  isList,
  isMap,
  isMarkup,
  isNumber,
  isText,
  keyOf,
  known,
  Markup,
  Namespace,
  number,
  Range,
  repr,
  typeName,
  Undefined,
} = require('./values.cjs');

/** Whether items are read by their place. */
const hasPlaces = (value) =>
  isText(value) || (isList(value) && [undefined, 'tuple'].includes(value.kind)) || value instanceof Range;

/** Functions that filters and tests need of each other, and how attributes are read. */
const environment = {
  /** `object.name`: an attribute, or else an item. */
  attribute(object, name, orItem = true) {
    known(object);
    const found = methodOf(object, name, environment) ?? ownAttribute(object, name);
    if (found !== undefined) return found;
    if (orItem && isMap(object) && object.has(name)) return object.get(name);
    return new Undefined(`'${typeName(object)} object' has no attribute '${name}'`);
  },
  /** `object[key]`: an item, or else an attribute. */
  item(object, key) {
    known(object);
    const place = typeof key === 'boolean' ? BigInt(key) : key;
    if (isMap(object) && !isMap(key) && (!isList(key) || key.kind === 'tuple')) {
      const own = keyOf(key);
      if (object.has(own)) return object.get(own);
    } else if (typeof place === 'bigint' && hasPlaces(object)) {
      const items = isText(object) ? characters(object) : object instanceof Range ? [...object] : object;
      const found = items.at(Number(place));
      if (found === undefined) return new Undefined(`${typeName(object)} object has no element ${key}`);
      return isMarkup(object) ? new Markup(found) : found;
    }
    return isText(key) ? environment.attribute(object, key, false) : new Undefined(`no item ${repr(key)}`);
  },
  filter(name, value, given, named) {
    if (!Object.hasOwn(FILTERS, name)) fail(`No filter named '${name}'.`);
    return FILTERS[name](value, given, named, environment);
  },
  /** @returns whether a value passes */
  test(name, given, named) {
    if (name === 'filter') return (value) => Object.hasOwn(FILTERS, value);
    if (name === 'test') return (value) => Object.hasOwn(TESTS, value) || value === 'filter' || value === 'test';
    if (!Object.hasOwn(TESTS, name)) fail(`No test named '${name}'.`);
    return (value) => TESTS[name](value, given, named);
  },
};

function ownAttribute(object, name) {
  if (object instanceof Namespace) return object.values.get(name);
  if (object instanceof Loop) return object.attribute(name);
  if (typeof object === 'function' && object.attributes !== undefined && Object.hasOwn(object.attributes, name))
    return object.attributes[name];
  if (isList(object) && (name === 'grouper' || name === 'list')) return object[name];
  if (object instanceof Range && ['start', 'stop', 'step'].includes(name)) return object[name];
  if (isNumber(object) && (name === 'real' || (name === 'numerator' && typeof object !== 'number')))
    return number(object);
  return undefined;
}

module.exports = { environment, hasPlaces };
