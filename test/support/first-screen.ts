import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';

/** Letters of a headline, and the most of a finding, which fits two lines on a tablet. */
const HEADLINE = { least: 30, most: 220 } as const;
const LONGEST_FINDING = 130;

/** Asserts that a report begins with one sentence, its picture, and at most three short findings, figures first. */
export function checkFirstScreen(file: string): void {
  const page = readFileSync(file, 'utf8');
  const top = page.slice(page.indexOf('<main>'), page.indexOf('<p class="subtitle">'));
  const headline = textOf(/<p class="headline">(.*?)<\/p>/s.exec(top)?.[1] ?? '');
  assert.ok(headline.length >= HEADLINE.least && headline.length <= HEADLINE.most, `headline: "${headline}"`);
  assert.not.match(headline, /NaN|undefined|Infinity/);
  assert.match(top, '<figure', 'a picture below the headline');
  const findings = [...top.matchAll(/<li>(.*?)<\/li>/gs)].map(([, text = '']) => textOf(text));
  assert.ok(findings.length <= 3, findings.join('\n'));
  for (const finding of findings) {
    assert.match(finding, /^[×±+−]?\s?\d/, `"${finding}" begins with its figure`);
    assert.ok(finding.length <= LONGEST_FINDING, `"${finding}" is short`);
    assert.not.match(finding, /NaN|undefined|Infinity/);
  }
}

function textOf(html: string): string {
  return html.replace(/<[^>]*>/g, '').trim();
}
