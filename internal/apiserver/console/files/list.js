// Shows the list of the objects of a kind.

import { Refused, checkNamespace, readObjects } from './api.js';
import { count, element, link, row, table } from './dom.js';
import { hrefOf } from './route.js';

/** showList fills a view with the objects of a kind. It returns what a screen reader announces. */
export async function showList(view, route, kinds) {
  const all = route.kind.namespaced && route.namespace === '';
  const place = !route.kind.namespaced ? '' : all ? ' in all namespaces' : ` in namespace ${route.namespace}`;
  const title = `${route.kind.kind}: objects${place}`;
  const heading = element('h2', { tabindex: '-1' }, title);
  const first = await readFirst(route, all);
  const parts = [heading];
  if (route.text !== '') {
    parts.push(element('p', {}, 'Only the names that contain ', element('strong', {}, route.text), '. ', link(hrefOf({ ...route, text: '' }), 'Show all')));
  }
  if (first.items.length === 0 && first.more === '') {
    const note = route.kind.namespaced && !all ? await checkNamespace(kinds, route.namespace) : '';
    view.replaceChildren(...parts, element('p', {}, 'There are no objects.'), ...(note ? [element('p', { class: 'note' }, note)] : []));
    return `${title}: none`;
  }
  const columns = ['Name', ...(all ? ['Namespace'] : []), ...first.columns];
  const rowOf = (item) => row([
    link(hrefOf({ ...route, namespace: item.namespace ?? '', name: item.name, text: '' }), item.name),
    ...(all ? [item.namespace ?? ''] : []),
    ...item.cells.map((cell) => String(cell ?? '')),
  ], columns);
  const shown = table({ caption: title, columns, rows: [] });
  const body = shown.querySelector('tbody');
  body.append(...first.items.map(rowOf));
  view.replaceChildren(...parts, shown);
  let more = first.more;
  if (more !== '') {
    const button = element('button', { type: 'button', class: 'quiet' }, 'Show more');
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const next = await readObjects(route.kind, route.namespace, { text: route.text, more });
        body.append(...next.items.map(rowOf));
        more = next.more;
        button.hidden = more === '';
      } finally {
        button.disabled = false;
      }
    });
    view.append(button);
  }
  return `${title}: ${count(first.items.length, 'object')}`;
}

/** readFirst reads the first part of a list. The refusal for all namespaces says what else may work. */
async function readFirst(route, all) {
  try {
    return await readObjects(route.kind, route.namespace, { text: route.text });
  } catch (error) {
    if (all && error instanceof Refused && error.status === 403) {
      throw new Refused(403, `${error.message}. You may have the right in one namespace: write its name above.`);
    }
    throw error;
  }
}
