// Shows the overview: what is locked, what drifts, findings, plans, old files and refused writes. The page asks for a part of the list of each
// kind, with the rights of the user, and asks once.

import { Refused, checkNamespace, readOverview, readRefused } from './api.js';
import { code, count, element, link, longTable, section, time } from './dom.js';
import { fieldsOf, writeOf } from './refused.js';
import { hrefOf, keyOf, overviewOf } from './route.js';

// How many objects of each kind the page asks about at first, and with each press of the button. One answer may have fewer.
const part = 250;
// How many kinds the page asks about at the same time.
const together = 4;
// How many kinds a sentence names.
const mostNamed = 8;
// Kinds that clients write all the time, and that no user applies.
const skipped = new Set(['events', 'leases', 'endpoints', 'endpointslices', 'controllerrevisions', 'ipaddresses', 'csinodes', 'csistoragecapacities']);

const parts = [
  { id: 'locked', title: 'Locked', show: locked },
  { id: 'drift', title: 'Drift', show: drift },
  { id: 'findings', title: 'Findings', show: findings },
  { id: 'plans', title: 'Plans', show: plans },
  { id: 'files', title: 'Old files', show: files },
  { id: 'refused', title: 'Refused writes', show: refused },
];

const about = {
  locked: 'Immutable ConfigMaps and Secrets, objects that must be kept, and the rules of definitions and policies.',
  drift: 'Fields that the next kubectl apply changes back, because another client has changed them.',
  findings: 'Definitions with something wrong.',
  plans: 'Plans of operator packages that run, or have failed.',
  files: 'Pods on nodes whose files are not up to date.',
  refused: 'Writes of the last hour that a protection of this server refused, to objects that you may get. The server forgets them when it restarts.',
};

/**
 * showOverview fills a view, and goes on to fill it while isShown returns true. It returns what a screen reader announces at first, and
 * calls say at the end.
 */
export async function showOverview(view, route, kinds, isShown, say) {
  const all = route.namespace === '';
  const title = all ? 'Overview' : `Overview of namespace ${route.namespace}`;
  const note = all ? '' : await checkNamespace(kinds, route.namespace);
  const scans = kinds.filter((kind) => !skipped.has(kind.resource) && (all || kind.namespaced))
    .map((kind) => ({ kind, looked: 0, more: '', items: [], error: '', begun: false }));
  const state = { route, kinds, scans, writes: null, error: '' };
  const progress = element('p', { class: 'quiet-text', id: 'progress' });
  const tiles = element('ul', { class: 'tiles', 'aria-label': 'Sections' }, ...parts.map(({ id, title: name }) => {
    const tile = element('button', { type: 'button', class: 'tile', id: `tile-${id}` }, element('strong', {}, '…'), element('span', {}, name));
    tile.addEventListener('click', () => {
      const heading = document.getElementById(`${id}-title`);
      heading.scrollIntoView();
      heading.focus({ preventScroll: true });
    });
    return element('li', {}, tile);
  }));
  const bodies = new Map(parts.map(({ id }) => [id, element('div', {}, element('p', { class: 'quiet-text' }, 'Looking…'))]));
  view.replaceChildren(element('h2', { tabindex: '-1' }, title),
    ...(all ? [] : [element('p', {}, link(overviewOf(''), 'Overview of all namespaces'))]),
    ...(note ? [element('p', { class: 'note' }, note)] : []),
    tiles, progress,
    ...parts.map(({ id, title: name }) => {
      const made = section(id, name, element('p', { class: 'quiet-text' }, about[id]), bodies.get(id));
      made.querySelector('h3').tabIndex = -1;
      return made;
    }));

  const fill = () => {
    for (const { id, show } of parts) {
      const shown = show(state);
      bodies.get(id).replaceChildren(...shown.parts);
      const tile = view.querySelector(`#tile-${id}`);
      // Where the user may see nothing, a zero would be a statement about objects.
      tile.querySelector('strong').textContent = shown.looked ? `${shown.number}${shown.more ? '+' : ''}` : '–';
      tile.toggleAttribute('data-some', shown.number > 0);
    }
  };
  const look = async () => {
    const open = scans.filter((scan) => !scan.begun || scan.more !== '');
    const total = open.length;
    let done = 0;
    const next = async () => {
      while (open.length > 0 && isShown()) {
        await lookAt(open.shift(), route);
        done++;
        progress.textContent = `Looked at ${done} of ${total} kinds.`;
      }
    };
    const writes = readRefused().then((found) => { state.writes = found; }, (error) => { state.error = error.message; });
    await Promise.all([writes, ...Array.from({ length: together }, next)]);
    if (!isShown()) {
      return;
    }
    fill();
    progress.replaceChildren(...summary(scans, look));
    say(`${title}: ${parts.map(({ id, title: name }) => `${name} ${view.querySelector(`#tile-${id} strong`).textContent}`).join(', ')}`);
  };
  // The view is shown first, and filled as the answers come.
  setTimeout(look);
  return title;
}

/** lookAt reads the next objects of a kind. */
async function lookAt(scan, route) {
  const before = scan.looked;
  try {
    do {
      const found = await readOverview(scan.kind, route.namespace, part, scan.more);
      scan.begun = true;
      scan.looked += found.looked;
      scan.more = found.more;
      scan.items.push(...found.items);
    } while (scan.more !== '' && scan.looked - before < part);
  } catch (error) {
    scan.begun = true;
    scan.more = '';
    scan.error = error.message;
    scan.refused = error instanceof Refused && error.status === 403;
    scan.elsewhere = error instanceof Refused && error.status === 406;
  }
}

/** summary says what the page has looked at, and offers to go on. */
function summary(scans, look) {
  const looked = scans.reduce((sum, scan) => sum + scan.looked, 0);
  const open = scans.filter((scan) => scan.more !== '');
  const said = [`Looked at ${count(looked, 'object')} of ${count(scans.filter((scan) => !scan.error).length, 'kind')}. `];
  if (open.length === 0) {
    return said;
  }
  const button = element('button', { type: 'button', class: 'quiet' }, 'Look at more');
  button.addEventListener('click', () => {
    button.disabled = true;
    look();
  });
  return [...said, `There are more objects of the ${open.length === 1 ? 'kind' : 'kinds'} ${names(open)}. `, button];
}

const names = (scans) => scans.map((scan) => scan.kind.kind).join(', ');

/** found returns the remarks that a function selects, each with its kind. */
function found(state, selects) {
  return state.scans.flatMap((scan) => scan.items.filter((item) => selects(item, scan)).map((item) => ({ ...item, kind: scan.kind })));
}

const isOf = (...keys) => (scan) => keys.includes(keyOf(scan.kind));
const ofDefinitions = (scan) => scan.kind.group === 'apiextensions.k8s.io';
const ofPolicies = (scan) => scan.kind.group === 'guard.holdfast.dev';
const ofInstances = (scan) => scan.kind.group === 'kudo.dev' && scan.kind.resource === 'instances';

/**
 * outside says which kinds are not in a section, and why. Without a right, the page knows nothing about the objects, and says so.
 */
function outside(state, concerns) {
  const said = [];
  const add = (scans, text) => {
    if (scans.length > 0) {
      said.push(element('p', { class: 'note' }, ...text));
    }
  };
  const of = state.scans.filter(concerns);
  const where = state.route.namespace === '' ? 'in all namespaces' : `in namespace ${state.route.namespace}`;
  const refusedOf = of.filter((scan) => scan.refused);
  const all = refusedOf.length === of.length;
  const many = refusedOf.length > mostNamed;
  add(refusedOf, [`You may not list ${many ? count(refusedOf.length, 'kind') : names(refusedOf)} ${where}, so ` +
    (all ? 'this section is empty.' : many || refusedOf.length > 1 ? 'their objects are not in this section.' : 'its objects are not in this section.'),
    ...(state.route.namespace === '' && refusedOf.some((scan) => scan.kind.namespaced) ? [' Your rights may be in one namespace: write its name above, and press Show.'] : []),
    ...(many ? [element('details', {}, element('summary', {}, 'Which kinds'), names(refusedOf))] : [])]);
  const failed = of.filter((scan) => scan.error && !scan.refused && !scan.elsewhere);
  add(failed, failed.map((scan) => `${scan.kind.kind} cannot be listed: ${scan.error} `));
  if (state.route.namespace !== '' && of.length === 0) {
    said.push(element('p', {}, 'These objects have no namespace: see the ', link(overviewOf(''), 'overview of all namespaces'), '.'));
  }
  return said;
}

/** body returns what a section shows: tables, or that there is nothing, and what is not in it. */
function body(state, concerns, tables) {
  const shown = tables.filter((each) => each.rows.length > 0);
  const number = shown.reduce((sum, each) => sum + each.rows.length, 0);
  const missing = outside(state, concerns);
  const more = state.scans.filter(concerns).some((scan) => scan.more !== '');
  const looked = state.scans.filter(concerns).some((scan) => !scan.error);
  return {
    number, more, looked,
    parts: [...(shown.length === 0 && looked ? [element('p', {}, 'None.')] : []), ...shown.map((each) => longTable(each)), ...missing],
  };
}

const nameOf = (item) => link(hrefOf({ kind: item.kind, namespace: item.namespace ?? '', name: item.name }), item.name);
const kindOf = (item) => element('span', { class: 'kind' }, item.kind.kind);
const lines = (texts) => element('ul', {}, ...texts.map((text) => element('li', {}, code(text))));

function locked(state) {
  const shown = body(state, isOfLocked, [{
    caption: 'ConfigMaps and Secrets with the field immutable', columns: ['Name', 'Kind', 'Namespace'],
    rows: found(state, (item) => item.immutable).map((item) => [nameOf(item), kindOf(item), item.namespace ?? '']),
  }, {
    caption: 'Objects that must be kept, by the annotation holdfast.dev/keep', columns: ['Name', 'Kind', 'Namespace', 'Kept'],
    rows: found(state, (item) => item.kept).map((item) => [nameOf(item), kindOf(item), item.namespace ?? '', code(item.kept)]),
  }, {
    caption: 'Definitions with rules', columns: ['Definition', 'Marked fields', 'Rules of the annotation'],
    rows: found(state, (item, scan) => ofDefinitions(scan) && (item.marked || item.rules)).map((item) =>
      [nameOf(item), String(item.marked ?? 0), item.rules ? lines(item.rules) : '']),
  }, {
    caption: 'Policies', columns: ['Policy', 'Resources', 'Rules', 'Mode'],
    rows: found(state, (item, scan) => ofPolicies(scan)).map((item) =>
      [nameOf(item), (item.resources ?? []).join(', '), lines(item.rules ?? []), item.warns ? 'warns' : 'refuses']),
  }]);
  if (state.route.namespace !== '') {
    shown.parts.push(element('p', {}, 'Definitions and policies have no namespace: see the ', link(overviewOf(''), 'overview of all namespaces'), '.'));
  }
  return shown;
}

const isOfLocked = (scan) => isOf('v1/configmaps', 'v1/secrets')(scan) || ofDefinitions(scan) || ofPolicies(scan);

function drift(state) {
  return body(state, () => true, [{
    caption: 'Objects that differ from their last apply', columns: ['Name', 'Kind', 'Namespace', 'Fields'],
    rows: found(state, (item) => item.drift).map((item) => [nameOf(item), kindOf(item), item.namespace ?? '',
      [...item.drift.flatMap((field, i) => (i === 0 ? [code(field)] : [', ', code(field)])), item.more ? ` and ${item.more} more` : '']]),
  }]);
}

function findings(state) {
  return body(state, ofDefinitions, [{
    caption: 'Definitions with findings', columns: ['Definition', 'Findings'],
    rows: found(state, (item) => item.findings).map((item) => [nameOf(item), element('ul', {}, ...item.findings.map((text) => element('li', {}, text)))]),
  }]);
}

function plans(state) {
  return body(state, ofInstances, [{
    caption: 'Plans that run or have failed', columns: ['Instance', 'Namespace', 'Plan', 'State', 'Message'],
    rows: found(state, (item) => item.plan).map((item) => [nameOf(item), item.namespace ?? '', item.plan,
      (item.state ?? 'about to start').toLowerCase().replaceAll('_', ' '), item.message ?? '']),
  }]);
}

function files(state) {
  return body(state, isOf('v1/pods'), [{
    caption: 'Pods with old files', columns: ['Pod', 'Namespace', 'Node', 'Files'],
    rows: found(state, (item) => item.files).map((item) => [nameOf(item), item.namespace ?? '', item.node ?? '',
      element('ul', {}, ...item.files.map((text) => element('li', {}, text)))]),
  }]);
}

function refused(state) {
  if (state.error) {
    return { number: 0, more: false, looked: false, parts: [element('p', { class: 'note' }, `The refused writes cannot be read: ${state.error}`)] };
  }
  const writes = (state.writes ?? []).filter((write) => state.route.namespace === '' || write.namespace === state.route.namespace);
  if (writes.length === 0) {
    return { number: 0, more: false, looked: true, parts: [element('p', {}, 'None.')] };
  }
  return {
    number: writes.length, more: false, looked: true,
    parts: [longTable({
      caption: 'Refused writes, the newest first', columns: ['Object', 'Namespace', 'Write', 'At', 'User', 'Fields', 'Why'],
      rows: writes.map((write) => [objectOf(write, state.kinds), write.namespace ?? '', writeOf(write), time(write.last), write.user, fieldsOf(write), write.reason]),
    })],
  };
}

/** objectOf returns the object of a write, with a link if the page has its kind. */
function objectOf(write, kinds) {
  const kind = kinds.find((known) => known.group === (write.group ?? '') && known.resource === write.resource);
  const named = `${kind?.kind ?? write.resource} ${write.name ?? ''}`.trim();
  return kind && write.name ? link(hrefOf({ kind, namespace: write.namespace ?? '', name: write.name }), named) : named;
}
