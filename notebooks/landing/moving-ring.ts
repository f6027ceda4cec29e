import { html } from 'htl';
import { isProcessorLane } from '../../engine/trace/trace.ts';
import { askRing } from '../a-ring-played/ask.ts';
import { type Laid, layOut } from '../lib/timeline-rows.ts';

/** The ring that is shown: one slow disk, which the others wait for. */
const SETTING = {
  slowest: 0.5,
  room: 3.5,
  plan: '4 rounds of 2, 2, 2, 2',
  loading: 'prefetch the next window',
} as const;

/** Real seconds for a simulated one. */
const SLOWER = 6;
/** CSS pixels. */
const [WIDTH, HEIGHT] = [320, 240] as const;

/** A ring of four devices at work, simulated: what each does now, in colours. It stands still where motion isn't wanted. */
export function movingRing(): HTMLElement {
  const canvas =
    html`<canvas role="img" aria-label="Four devices in a ring; a token goes round while their disks read"></canvas>` as HTMLCanvasElement;
  const sharp = Math.max(1, devicePixelRatio);
  canvas.width = WIDTH * sharp;
  canvas.height = HEIGHT * sharp;
  canvas.style.cssText = `width: ${WIDTH}px; max-width: 100%; aspect-ratio: ${WIDTH} / ${HEIGHT}`;
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  askRing(SETTING).then(({ trace }) => {
    const laid = layOut(trace);
    const draw = (milliseconds: number): void => {
      const time = still.matches ? laid.seconds / 3 : (milliseconds / 1000 / SLOWER) % laid.seconds;
      drawRing(canvas, laid, time);
      if (canvas.isConnected && !still.matches) requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  });
  return html`<figure class="moving">${canvas}<figcaption><span class="key one">computes</span> <span class="key two">waits for its disk</span> <span class="key three">reads ahead</span><br>Simulated, ${SLOWER} times slower. <a href="./a-ring-played.html">Play it yourself</a></figcaption></figure>` as HTMLElement;
}

function drawRing(canvas: HTMLCanvasElement, { trace, bars, seconds }: Laid, time: number): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`);
  const scale = canvas.width / WIDTH;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, WIDTH, HEIGHT);
  const [x, y, radius] = [WIDTH / 2, HEIGHT / 2, 78];
  const circle = (cx: number, cy: number, r: number, fill: string): void => {
    context.beginPath();
    context.arc(cx, cy, r, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
  };
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = colour('rule');
  context.lineWidth = 2;
  context.stroke();
  const now = bars.filter(({ start, end }) => start <= time && time < end);
  for (const [index, { name }] of trace.devices.entries()) {
    const angle = -Math.PI / 2 + (2 * Math.PI * index) / trace.devices.length;
    const [cx, cy] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const own = now.filter(({ device }) => device === name);
    const work = own.find(({ lane }) => isProcessorLane(lane));
    const reads = own.some(({ lane }) => lane === 'disk');
    if (reads) circle(cx, cy, 30, colour('series-3'));
    const fill = work === undefined ? colour('line') : colour(work.kind === 'stall' ? 'series-2' : 'series-1');
    circle(cx, cy, 24, fill);
    context.fillStyle =
      work === undefined ? colour('ink') : colour(work.kind === 'stall' ? 'on-series-2' : 'on-series-1');
    context.font = `600 15px ${style.getPropertyValue('--sans')}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(String(index + 1), cx, cy);
  }
  context.fillStyle = colour('soft');
  context.font = `13px ${style.getPropertyValue('--sans')}`;
  context.fillText(`${time.toFixed(2)} of ${seconds.toFixed(2)} s`, x, y);
}
