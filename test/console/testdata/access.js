// Returns a JSON list of what is wrong with the page: names, headings, tables, focus and contrast.
(() => {
  const found = [];
  const wrong = (element, text) => found.push(`${element.tagName.toLowerCase()}#${element.id} ${element.textContent.slice(0, 40)}: ${text}`);
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);

  if (document.documentElement.lang !== 'en') {
    found.push('the page has no language');
  }
  for (const [selector, want] of [['h1', 1], ['main', 1], ['header', 1], ['nav', 1], ['[role=status]#status', 1]]) {
    const count = document.querySelectorAll(selector).length;
    if (count !== want) {
      found.push(`${count} elements ${selector}, want ${want}`);
    }
  }

  // Names.
  for (const control of all('input, select, textarea')) {
    if (control.labels.length === 0 && !control.ariaLabel) {
      wrong(control, 'has no label');
    }
  }
  for (const control of all('button, a, summary')) {
    if (control.textContent.trim() === '') {
      wrong(control, 'has no name');
    }
  }
  for (const region of all('nav, section, article, [role=region]')) {
    const by = region.getAttribute('aria-labelledby');
    if (!region.ariaLabel && !(by && document.getElementById(by)?.textContent)) {
      wrong(region, 'has no name');
    }
  }

  // Headings go down one level at a time.
  let level = 0;
  for (const heading of all('h1, h2, h3, h4, h5, h6')) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) {
      wrong(heading, `follows a heading of level ${level}`);
    }
    level = next;
  }

  // Tables.
  for (const table of all('table')) {
    if (!table.caption?.textContent) {
      wrong(table, 'has no caption');
    }
    for (const cell of table.tHead.querySelectorAll('th')) {
      if (cell.scope !== 'col') {
        wrong(cell, 'is no header of a column');
      }
    }
    for (const row of table.tBodies[0].rows) {
      if (row.cells[0].scope !== 'row' || row.cells.length !== table.tHead.rows[0].cells.length) {
        wrong(row, 'has no header, or not one cell for each column');
      }
    }
    const scrolls = table.parentElement;
    if (scrolls.tabIndex !== 0) {
      wrong(table, 'cannot be scrolled with the keyboard');
    }
  }

  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) {
    found.push(`the id ${id} is used twice`);
  }

  // Focus: each control can have it, and shows it.
  const before = document.activeElement;
  for (const control of all('input, select, button, a, summary, .scroll')) {
    control.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== control) {
      wrong(control, 'cannot have the focus');
    } else if (getComputedStyle(control).outlineStyle === 'none' || parseFloat(getComputedStyle(control).outlineWidth) < 2) {
      wrong(control, 'does not show the focus');
    }
    if (control.tabIndex > 0) {
      wrong(control, 'changes the order of the focus');
    }
  }
  before?.focus?.({ preventScroll: true });

  // Contrast: at least 4.5 to 1 for all text.
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = channels(colour).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (channels(colour)[3] !== 0) {
        return colour;
      }
    }
    return 'rgb(255, 255, 255)';
  };
  const checked = new Set();
  for (const element of all('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '');
    if (!hasText && element.tagName !== 'INPUT' && element.tagName !== 'SELECT') {
      continue;
    }
    const colour = getComputedStyle(element).color;
    const behind = background(element);
    const pair = `${colour} on ${behind}`;
    if (checked.has(pair)) {
      continue;
    }
    checked.add(pair);
    const [light, dark] = [luminance(colour), luminance(behind)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) {
      wrong(element, `contrast ${ratio.toFixed(2)}: ${pair}`);
    }
  }
  if (checked.size < 2) {
    found.push('no colours were checked');
  }
  return JSON.stringify(found);
})()
