// The console: signs in, finds objects, and shows what the part of the URL after # names.

import { Refused, checkNamespace, readHistory, readKinds, readNames, readReport, setToken } from './api.js';
import { element, link } from './dom.js';
import { historyOf } from './history.js';
import { showList } from './list.js';
import { objectParts } from './object.js';
import { showOverview } from './overview.js';
import { plansOf, progressOf } from './plan.js';
import { hrefOf, keyOf, overviewOf, parseRoute, searchOf } from './route.js';
import { showSearch } from './search.js';
import { showSeries } from './series.js';

const pollRunning = 2000;
const pollIdle = 5000;
const by = (id) => document.getElementById(id);

let kinds = [];
// The number of the view that is shown. A view that has another number is out of date.
let current = 0;
let timer = 0;

/** say tells a screen reader what has happened. */
function say(text) {
  by('status').textContent = text;
}

/** fail shows an error. A refused credential leads back to the form for the token. */
function fail(error) {
  by('alert').textContent = error.message;
  if (error instanceof Refused && error.status === 401) {
    signOut();
    by('alert').textContent = error.message;
  }
}

async function connect(token) {
  setToken(token);
  kinds = await readKinds();
  const groups = [...new Set(kinds.map((kind) => kind.group))];
  by('kind').replaceChildren(element('option', { value: '' }, 'All kinds'), ...groups.map((group) => element('optgroup', { label: group || 'core' },
    ...kinds.filter((kind) => kind.group === group).map((kind) => element('option', { value: keyOf(kind) }, kind.kind)))));
  by('session-text').textContent = token === '' ? 'Signed in with a client certificate.' : 'Signed in with a token.';
  by('sign-out').hidden = token === '';
  for (const [id, hidden] of [['session', false], ['find', false], ['sign-in', true]]) {
    by(id).hidden = hidden;
  }
  by('alert').textContent = '';
  const namespaces = kinds.find((kind) => keyOf(kind) === 'v1/namespaces');
  if (namespaces) {
    const names = await readNames(namespaces);
    by('namespaces').replaceChildren(...names.map((name) => element('option', { value: name })));
  }
  await show();
}

function signOut() {
  setToken('');
  clearTimeout(timer);
  current++;
  kinds = [];
  by('view').replaceChildren();
  by('kind').replaceChildren();
  by('namespaces').replaceChildren();
  for (const [id, hidden] of [['session', true], ['find', true], ['sign-in', false]]) {
    by(id).hidden = hidden;
  }
  by('alert').textContent = '';
  document.title = 'Holdfast console';
  by('token').focus();
}

/** show shows what the URL names. */
async function show() {
  clearTimeout(timer);
  const number = ++current;
  by('alert').textContent = '';
  const route = parseRoute(location.hash, kinds);
  const view = by('view');
  by('kind').value = route.kind && route.view !== 'nowhere' ? keyOf(route.kind) : '';
  by('namespace').value = route.namespace ?? '';
  by('name').value = route.name || (route.view === 'list' ? route.text : '');
  by('text').value = route.view === 'search' ? route.text : '';
  say('Loading');
  const fresh = element('div', {});
  try {
    const said = await showRoute(fresh, route, number);
    if (number === current) {
      view.replaceChildren(fresh);
      document.title = `${fresh.querySelector('h2').textContent} – Holdfast console`;
      fresh.querySelector('h2').focus();
      say(said);
    }
  } catch (error) {
    if (number === current) {
      view.replaceChildren();
      say('');
      fail(error);
      explain(view, route, error);
    }
  }
}

/** explain says what a user can do about an object that cannot be shown. */
function explain(view, route, error) {
  if (!(error instanceof Refused) || !route.kind || (error.status !== 404 && error.status !== 403)) {
    return;
  }
  const list = link(hrefOf({ ...route, name: '', series: '', text: '' }), `All objects of the kind ${route.kind.kind}`);
  const title = error.status === 404 ? 'This link leads nowhere' : 'Not with your rights';
  document.title = `${title} – Holdfast console`;
  view.replaceChildren(element('h2', { tabindex: '-1' }, title),
    element('p', {}, error.status === 404
      ? 'There is no such object now. It may have been deleted or renamed, or it was never created.'
      : 'The server refuses the request. The page shows what you may get and list, and nothing else.'),
    element('p', {}, list, ', ', link(overviewOf(route.namespace), 'overview')));
}

/** showNowhere explains a link that names nothing that this server has. */
function showNowhere(view, route) {
  view.replaceChildren(element('h2', { tabindex: '-1' }, 'This link leads nowhere'), element('p', {}, route.why),
    element('p', {}, ...(route.kind ? [link(hrefOf({ kind: route.kind, namespace: '', name: '' }), `All objects of the kind ${route.kind.kind}`), ', '] : []),
      link('#', 'overview')));
  return 'This link leads nowhere';
}

function showRoute(view, route, number) {
  const isShown = () => number === current;
  switch (route.view) {
    case 'overview':
      return showOverview(view, route, kinds, isShown, say);
    case 'search':
      return showSearch(view, route, kinds, isShown, say);
    case 'series':
      return showSeries(view, route, kinds);
    case 'list':
      return showList(view, route, kinds);
    case 'object':
      return showObject(view, route, number);
  }
  return showNowhere(view, route);
}

async function showObject(view, route, number) {
  const report = await readObject(route);
  const title = `${report.object.kind} ${report.object.name}`;
  const heading = element('h2', { tabindex: '-1' }, title);
  const list = element('p', {}, element('a', { href: hrefOf({ ...route, name: '' }) }, `All objects of the kind ${route.kind.kind}`));
  const history = historyOf(await readHistory(route.kind, route.namespace, route.name));
  view.replaceChildren(heading, list, ...objectParts(report, history));
  if (report.object.series) {
    list.append(', ', element('a', { href: hrefOf({ ...route, series: report.object.series }) }, `series ${report.object.series}`));
  }
  if (keyOf(route.kind) === 'kudo.dev/v1beta1/instances') {
    view.querySelector('dl').after(plansOf(report));
    follow(route, number, report);
  }
  return title;
}

/** readObject reads the report about an object. If the object does not exist, the namespace may be the reason. */
async function readObject(route) {
  try {
    return await readReport(route.kind, route.namespace, route.name);
  } catch (error) {
    if (route.kind.namespaced && error instanceof Refused && error.status === 404) {
      await checkNamespace(kinds, route.namespace);
    }
    throw error;
  }
}

/** follow reads the plans of an Instance again and again, until another view is shown. */
function follow(route, number, last) {
  timer = setTimeout(async () => {
    let report = last;
    try {
      if (!document.hidden) {
        report = await readReport(route.kind, route.namespace, route.name);
      }
    } catch (error) {
      if (number === current) {
        fail(error);
      }
      return;
    }
    if (number !== current) {
      return;
    }
    if (report.object.resourceVersion !== last.object.resourceVersion) {
      by('plans').replaceWith(plansOf(report));
      if (progressOf(report) !== progressOf(last)) {
        say(progressOf(report));
      }
    }
    follow(route, number, report);
  }, last.running ? pollRunning : pollIdle);
}

/** go shows a link, again if it is shown. */
function go(target) {
  if ((location.hash || '#') === target) {
    show();
  } else {
    location.hash = target;
  }
}

by('skip').addEventListener('click', (event) => {
  event.preventDefault();
  by('main').focus();
});
by('find-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const kind = kinds.find((known) => keyOf(known) === by('kind').value);
  const namespace = by('namespace').value.trim();
  const name = by('name').value.trim();
  if (!kind) {
    go(name === '' ? overviewOf(namespace) : searchOf(name, namespace));
  } else if (kind.namespaced && namespace === '') {
    go(hrefOf({ kind, namespace, name: '', text: name }));
  } else {
    go(hrefOf({ kind, namespace, name }));
  }
});
by('search-form').addEventListener('submit', (event) => {
  event.preventDefault();
  go(searchOf(by('text').value.trim(), by('namespace').value.trim()));
});
by('sign-in-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = by('token').value.trim();
  by('token').value = '';
  try {
    await connect(token);
  } catch (error) {
    setToken('');
    fail(error);
  }
});
by('sign-out').addEventListener('click', signOut);
window.addEventListener('hashchange', () => {
  if (kinds.length > 0) {
    show();
  }
});

by('loading').remove();

// A browser with a client certificate needs no token.
connect('').catch((error) => {
  signOut();
  if (!(error instanceof Refused)) {
    fail(error);
  }
});
