import * as Plot from '@observablehq/plot';
import { html } from 'htl';
import { formatBytes, formatDeviation, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import type { RunnableAnswer } from '../../planner/answer.ts';
import { contextText, placesText } from '../../planner/answer-text.ts';
import type { Change } from '../../planner/changes.ts';
import { chartWidth, figure } from '../lib/figure.ts';
import type { PlannerReply } from './worker.ts';

/** All about one model: its plan, the memory of each device as a picture, what changes would do, command lines. */
export function detail({ answer, unified, without, upgrades, commands }: PlannerReply): HTMLElement {
  const { model } = answer;
  const title = html`<h2>${model.name}, ${model.mix}, ${formatBytes(model.bytes)}</h2>`;
  if (answer.status === 'does-not-fit')
    return html`<section>${title}<p>Does not fit: ${answer.reason}.</p>${changes('With one upgrade', upgrades)}</section>` as HTMLElement;
  const before = answer.simulated?.tokenSeconds ?? answer.predictedSeconds;
  const file = `data:application/json,${encodeURIComponent(JSON.stringify(answer.plan, null, 2))}`;
  return html`<section>${title}
    <p>Plan of <code>${answer.plan.scheduler}</code>, k = ${answer.plan.rounds}: ${placesText(answer.plan)} (layers on CPU and GPU); the head is ${answer.plan.output.device}. <a href=${file} download="plan.json">plan.json</a></p>
    <p>${weightsText(answer)}</p>
    ${figure(memoryBars(answer, unified), 'Memory that the plan takes, against what is available (line): weights beyond the line are read from disk again.')}
    <div class="tables">${changes('Without one device', without, before)}${changes('With one upgrade', upgrades, before)}</div>
    ${commands.length === 0 ? '' : html`<h3>Command lines</h3>`}
    ${commands.map(({ program, device, line, note }) => html`<p>${program}, on ${device}${note === undefined ? '' : ` (${note})`}:</p><pre tabindex="0"><code>${line}</code></pre>`)}
  </section>` as HTMLElement;
}

function weightsText(answer: RunnableAnswer): string {
  const { status, reloadedBytes, simulated, wholeLayers, carried } = answer;
  const weights =
    status === 'in-memory'
      ? 'All weights stay in memory'
      : `${formatBytes(reloadedBytes)} are read from disk for every token`;
  const first =
    simulated === undefined
      ? ''
      : `; the first token takes ${formatSeconds(simulated.warmSeconds)} warm, ${formatSeconds(simulated.coldSeconds)} from disk`;
  const uncut =
    wholeLayers === undefined
      ? ''
      : ` Without cutting tensors: ${placesText(wholeLayers.plan)}, ${threeDigits(1 / wholeLayers.seconds)} tokens/s.`;
  const runs =
    carried === undefined
      ? ''
      : ` No program caches experts on a device of a ring that computes on its GPU too; the fastest plan that one carries out: ${placesText(carried.plan)}, ${threeDigits(1 / carried.seconds)} tokens/s.`;
  return `${weights}${first}. Context: ${contextText(answer)}.${uncut}${runs}`;
}

/** Bars of RAM and, where a GPU has memory of its own, VRAM for each device, GiB, with a line at what is available. */
function memoryBars({ devices }: RunnableAnswer, unified: readonly string[]): Element {
  const rows = devices.flatMap(({ device, ramBytes, ramAvailable, nonReclaimableBytes, vramBytes, vramAvailable }) => [
    {
      memory: `${device} RAM`,
      what: 'weights',
      gib: (ramBytes - nonReclaimableBytes) / 2 ** 30,
      limit: ramAvailable / 2 ** 30,
    },
    {
      memory: `${device} RAM`,
      what: 'KV cache, buffers, pinned',
      gib: nonReclaimableBytes / 2 ** 30,
      limit: ramAvailable / 2 ** 30,
    },
    ...(vramAvailable > 0 && !unified.includes(device)
      ? [{ memory: `${device} GPU`, what: 'weights', gib: vramBytes / 2 ** 30, limit: vramAvailable / 2 ** 30 }]
      : []),
  ]);
  const memories = [...new Set(rows.map(({ memory }) => memory))];
  return Plot.plot({
    width: chartWidth(document.documentElement.clientWidth - 32),
    height: 60 + 44 * memories.length,
    marginLeft: 8,
    marginTop: 24,
    marginBottom: 36,
    x: { label: 'GiB', labelAnchor: 'center', grid: true },
    y: { axis: null, domain: memories, paddingInner: 0.55, paddingOuter: 0.1 },
    color: {
      domain: ['KV cache, buffers, pinned', 'weights'],
      range: ['var(--series-2)', 'var(--series-1)'],
      legend: true,
    },
    marks: [
      Plot.barX(
        rows,
        Plot.stackX({ x: 'gib', y: 'memory', fill: 'what', order: ['KV cache, buffers, pinned', 'weights'] }),
      ),
      Plot.tickX(rows, { x: 'limit', y: 'memory', strokeWidth: 3 }),
      Plot.text(memories, { frameAnchor: 'left', y: (memory: string) => memory, text: String, dy: -18 }),
    ],
  });
}

function changes(title: string, list: readonly Change[], before?: number): HTMLElement {
  if (list.length === 0) return html`<span></span>` as HTMLElement;
  return html`<table><caption>${title}</caption>
    <thead><tr><th>change</th><th>tokens/s</th><th>gain</th></tr></thead>
    <tbody>${list.map(
      ({ what, seconds }) => html`<tr><td>${what}</td>
        <td>${Number.isFinite(seconds) ? threeDigits(1 / seconds) : 'does not fit'}</td>
        <td>${before === undefined || !Number.isFinite(seconds) ? '–' : formatDeviation(before / seconds)}</td></tr>`,
    )}</tbody></table>` as HTMLElement;
}
