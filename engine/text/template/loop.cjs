// The variable `loop` of a template.
const { areEqual, fail, isList, Undefined } = require('./values.cjs');

/** Values of one pass of a loop. */
class Loop {
  constructor(shared, place, previtem) {
    Object.assign(this, { shared, place, previtem });
  }

  /** `undefined`: there is none of that name */
  attribute(name) {
    const { shared, place, previtem } = this;
    const { items, length, depth } = shared;
    switch (name) {
      case 'index':
        return BigInt(place + 1);
      case 'index0':
        return BigInt(place);
      case 'revindex':
        return BigInt(length - place);
      case 'revindex0':
        return BigInt(length - place - 1);
      case 'length':
        return BigInt(length);
      case 'depth':
        return BigInt(depth + 1);
      case 'depth0':
        return BigInt(depth);
      case 'first':
        return place === 0;
      case 'last':
        return place === length - 1;
      case 'previtem':
        return previtem;
      case 'nextitem':
        return place + 1 < length
          ? (isList(items) ? items : [...items])[place + 1]
          : new Undefined('there is no next item');
      case 'cycle':
        return (given) => (given.length === 0 ? fail('no items for cycling given') : given[place % given.length]);
      case 'changed':
        return (given) => {
          const isOther = shared.changed === undefined || !areEqual(shared.changed, given);
          shared.changed = given;
          return isOther;
        };
      default:
        return undefined;
    }
  }

  toString() {
    return `<LoopContext ${this.place + 1}/${this.shared.length}>`;
  }

  call([value]) {
    const nested = [];
    (this.shared.again ?? (() => fail("the loop isn't recursive")))(value, nested);
    return nested.join('');
  }
}

module.exports = { Loop };
