import type { Page } from 'playwright-core';

/**
 * Overlaps on a page: texts over texts or controls, and controls over controls, as
 * `"one" over "other"`. Parts that are scrolled out of their containers don't count, nor do texts within one label.
 */
export async function overlaps(page: Page): Promise<string[]> {
  // One expression: names that a compiler adds to functions don't exist on the page.
  return page.evaluate(`(${SCRIPT})()`);
}

/** Texts of a report's charts that reach beyond their charts on the left, on the right or below. */
export async function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('.plot .main-svg text')]
    .filter((text) => {
      const [inner, outer] = [text.getBoundingClientRect(), text.closest('.plot').getBoundingClientRect()];
      return inner.width > 0 && (inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1);
    })
    .map((text) => text.textContent)`);
}

const SCRIPT = `() => {
  /** Pixels in both directions from which on things overlap: lines of text touch, and glyphs are smaller than their boxes. */
  const [ACROSS, DOWN] = [3, 6];
  const visible = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) &&
    element.closest('.katex-mathml') === null;
  /** The part of a box that its scrolling containers show. */
  const shown = (box, element) => {
    let { left, top, right, bottom } = box;
    for (let one = element.parentElement; one !== null; one = one.parentElement) {
      if (getComputedStyle(one).overflow === 'visible') continue;
      const outer = one.getBoundingClientRect();
      left = Math.max(left, outer.left);
      top = Math.max(top, outer.top);
      right = Math.min(right, outer.right);
      bottom = Math.min(bottom, outer.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : undefined;
  };
  const boxes = [];
  const add = (box, element, text) => {
    const seen = shown(box, element);
    if (seen !== undefined) boxes.push({ ...seen, element, text: text.trim().slice(0, 40) });
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || element.closest('script, style, title, option') || !visible(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) add(box, element, node.data);
  }
  for (const element of document.querySelectorAll('input, select, button, textarea'))
    if (visible(element)) add(element.getBoundingClientRect(), element, element.type + ' ' + (element.name || element.textContent));
  boxes.sort((one, other) => one.top - other.top);
  const found = new Set();
  for (const [index, one] of boxes.entries()) {
    for (let next = index + 1; next < boxes.length && boxes[next].top < one.bottom; next++) {
      const other = boxes[next];
      if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (across > ACROSS && down > DOWN) found.add('"' + one.text + '" over "' + other.text + '"');
    }
  }
  return [...found];
}`;
