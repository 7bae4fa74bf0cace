// Shows the list of the objects of a kind.

import { readList } from './api.js';
import { count, element, row, table } from './dom.js';
import { hrefOf } from './route.js';

/** showList fills a view with the objects of a kind. It returns what a screen reader announces. */
export async function showList(view, route) {
  const place = route.kind.namespaced ? ` in namespace ${route.namespace}` : '';
  const title = `${route.kind.kind}: objects${place}`;
  const first = await readList(route.kind, route.namespace, '');
  const heading = element('h2', { tabindex: '-1' }, title);
  if (first.rows.length === 0) {
    view.replaceChildren(heading, element('p', {}, 'There are no objects.'));
    return `${title}: none`;
  }
  const rowOf = (item) => row([
    element('a', { href: hrefOf({ ...route, name: item.name }) }, item.name),
    ...first.columns.slice(1).map((column) => String(item.cells[column.index] ?? '')),
  ]);
  const shown = table({ caption: title, columns: first.columns.map((column) => column.name), rows: [] });
  const body = shown.querySelector('tbody');
  body.append(...first.rows.map(rowOf));
  view.replaceChildren(heading, shown);
  let more = first.more;
  if (more !== '') {
    const button = element('button', { type: 'button' }, 'Show more');
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const next = await readList(route.kind, route.namespace, more);
        body.append(...next.rows.map(rowOf));
        more = next.more;
        button.hidden = more === '';
      } finally {
        button.disabled = false;
      }
    });
    view.append(button);
  }
  return `${title}: ${count(first.rows.length, 'object')}`;
}
