import { Command } from 'commander';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  argument,
  choice,
  choices,
  count,
  declareOptions,
  eitherFlag,
  flag,
  list,
  number,
  type OptionValues,
  option,
  readOptions,
  text,
} from '../../../experiments/report/options.ts';

const SPECS = {
  paper: argument('<paper>', 'a paper', ['prima', 'helm']),
  cluster: text('--cluster <key>', 'a cluster', 'home'),
  plan: text('--plan <file>', 'a plan'),
  models: list('--models <list>', 'models', 'A,B'),
  reclaim: choice('--reclaim <policy>', 'a policy', ['os', 'linux'], 'os'),
  policies: choices('--policies <list>', 'policies', ['none', 'pinned']),
  rounds: count('--most-rounds <k>', 'rounds', { default: 10, most: 20 }),
  share: number('--share <x>', 'a share', { default: 0.5, least: 0, most: 1 }),
  workers: option('--workers <n>', 'threads', (_, given) => Number(given), { default: '2', shown: 'one per core' }),
  subsets: eitherFlag('--subsets', 'all sets', 'none'),
  trace: flag('--trace', 'a trace'),
};

function parse(...given: string[]): OptionValues<typeof SPECS> {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  declareOptions(command, SPECS);
  command.parse(given, { from: 'user' });
  return readOptions(command, SPECS);
}

test('defaults are parsed like given values, and an option without either is undefined', () => {
  assert.equal(parse('helm'), {
    paper: 'helm',
    cluster: 'home',
    plan: undefined,
    models: ['A', 'B'],
    reclaim: 'os',
    policies: ['none', 'pinned'],
    rounds: 10,
    share: 0.5,
    workers: 2,
    subsets: undefined,
    trace: false,
  });
});

test('values have their own names, independent of their flags', () => {
  const found = parse('prima', '--most-rounds', '7', '--no-subsets', '--trace', '--policies', 'pinned');
  assert.equal([found.rounds, found.subsets, found.trace, found.policies], [7, false, true, ['pinned']]);
  assert.is(parse('prima', '--subsets').subsets, true);
});

test('an invalid value is refused with its flag or argument', () => {
  assert.throws(() => parse('hlem'), /^paper: unknown "hlem"; did you mean "helm"\?$/);
  assert.throws(() => parse('helm', '--reclaim', 'linx'), /^--reclaim: unknown "linx"; did you mean "linux"\?$/);
  assert.throws(
    () => parse('helm', '--most-rounds', '21'),
    /^--most-rounds: "21" is not a whole number between 1 and 20$/,
  );
  assert.throws(() => parse('helm', '--share', '2'), /^--share: "2" is not a number between 0 and 1$/);
});

test('help shows defaults or their descriptions', () => {
  const command = new Command();
  declareOptions(command, SPECS);
  const help = command.helpInformation().replace(/\s+/g, ' ');
  assert.match(help, '--most-rounds <k> rounds (default: 10)');
  assert.match(help, '--workers <n> threads (default: one per core)');
  assert.match(help, '--no-subsets none');
});

test.run();
