import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../../datasets/load.ts';
import { promptTime, promptTimes, SYSTEMS } from '../../notebooks/prompts-that-fit-no-graph/prompt-times.ts';

const { cluster } = loadClusterFile('hetero-8gen3');
const model = namedW4a16Model(loadCatalogue(), 'Llama-3-8B');

test('GPU and NPU together are the fastest at every length that the lesson shows', () => {
  for (let tokens = 43; tokens <= 1003; tokens += 96) {
    const times = promptTimes(cluster, model, tokens);
    assert.is(times.length, Object.keys(SYSTEMS).length);
    const least = times.reduce((fastest, one) => (one.seconds < fastest.seconds ? one : fastest));
    assert.is(least.system, 'hetero-tensor', `${tokens} tokens`);
  }
});

test('one token beyond a graph nearly doubles a padded prompt', () => {
  const [fits, beyond] = [512, 513].map((tokens) => promptTime(cluster, model, 'padding', tokens).seconds);
  assert.ok((beyond ?? 0) > 1.7 * (fits ?? 0), `${fits} and ${beyond} s`);
});

test.run();
