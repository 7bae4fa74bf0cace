// Reads the API of the server that sent the page. Every request is a GET.

const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const report = 'application/json;as=Report;g=console.holdfast.dev;v=v1';
const rows = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const versions = 'application/json;as=Series;g=console.holdfast.dev;v=v1';
const references = 'application/json;as=References;g=series.holdfast.dev;v=v1';

// The token is in this variable and nowhere else.
let token = '';

/** setToken sets the bearer token of the next requests. The empty token means a client certificate. */
export function setToken(text) {
  token = text;
}

/** Refused is the error of a request that the server refused. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function get(path, accept) {
  const headers = { Accept: accept };
  if (token !== '') {
    headers.Authorization = `Bearer ${token}`;
  }
  const response = await fetch(path, {
    method: 'GET', headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error', referrerPolicy: 'no-referrer',
  });
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // The body is used only if it is JSON.
  }
  if (!response.ok) {
    throw new Refused(response.status, messageOf(response.status, body));
  }
  return body;
}

function messageOf(status, body) {
  if (status === 401) {
    return 'The server does not accept the credential.';
  }
  if (status === 406) {
    return 'Another server serves this kind, or this server has no console: there is no report about the object.';
  }
  return body && typeof body.message === 'string' ? body.message : `The server answers with status ${status}.`;
}

// segment returns a part of a path. A name with a slash would lead to another path of the API, for example to a proxy.
function segment(text) {
  if (text === '' || text === '.' || text === '..' || /[/%\\?#]/.test(text)) {
    throw new Error(`${JSON.stringify(text)} cannot be the name of an object or a namespace.`);
  }
  return encodeURIComponent(text);
}

/** pathOf returns the path of an object, or of the list of a kind if the name is empty. */
function pathOf(kind, namespace, name) {
  const parts = kind.group === '' ? ['/api', kind.version] : ['/apis', segment(kind.group), segment(kind.version)];
  if (kind.namespaced) {
    parts.push('namespaces', segment(namespace));
  }
  parts.push(segment(kind.resource));
  if (name !== '') {
    parts.push(segment(name));
  }
  return parts.join('/');
}

/** readKinds returns the kinds that the server has, each in its preferred version. */
export async function readKinds() {
  // One after the other: the server closes the connection after a request without a credential.
  const core = await get('/api', discovery);
  const named = await get('/apis', discovery);
  const kinds = [];
  for (const group of [...core.items, ...named.items]) {
    const known = new Set();
    for (const version of group.versions ?? []) {
      for (const resource of version.resources ?? []) {
        if (known.has(resource.resource) || !resource.verbs.includes('get') || !resource.verbs.includes('list')) {
          continue;
        }
        known.add(resource.resource);
        kinds.push({
          group: group.metadata?.name ?? '', version: version.version, resource: resource.resource,
          kind: resource.responseKind.kind, namespaced: resource.scope === 'Namespaced',
        });
      }
    }
  }
  return kinds;
}

/** readNames returns the names of the objects of a cluster-scoped kind, none if the user may not list them. */
export async function readNames(kind) {
  try {
    const list = await readList(kind, '', '');
    return list.rows.map((row) => row.name);
  } catch {
    return [];
  }
}

/**
 * readList returns a page of the list of a kind: columns and rows as kubectl prints them. The server leaves
 * out the objects themselves.
 */
export async function readList(kind, namespace, more) {
  const query = new URLSearchParams({ includeObject: 'None', limit: '200' });
  if (more !== '') {
    query.set('continue', more);
  }
  const list = await get(`${pathOf(kind, namespace, '')}?${query}`, rows);
  const shown = list.columnDefinitions.map((column, i) => ({ ...column, index: i }));
  const name = shown.find((column) => column.format === 'name') ?? shown[0];
  return {
    columns: [name, ...shown.filter((column) => column.priority === 0 && column !== name)],
    rows: (list.rows ?? []).map((row) => ({ name: String(row.cells[name.index]), cells: row.cells })),
    more: list.metadata?.continue ?? '',
  };
}

/** readReport returns the report about an object. */
export async function readReport(kind, namespace, name) {
  const found = await get(pathOf(kind, namespace, name), report);
  if (found?.kind !== 'Report') {
    throw new Error('The server does not answer with a report.');
  }
  return found;
}

/** readSeries returns the versions of a series, the newest first. */
export async function readSeries(kind, namespace, series) {
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(series)) {
    throw new Error(`${JSON.stringify(series)} cannot be the name of a series.`);
  }
  const query = new URLSearchParams({ labelSelector: `holdfast.dev/series=${series}` });
  const found = await get(`${pathOf(kind, namespace, '')}?${query}`, versions);
  if (found?.kind !== 'Series') {
    throw new Error('The server does not answer with a series.');
  }
  return found;
}

/** readReferences returns the objects that refer to a ConfigMap or a Secret. */
export async function readReferences(kind, namespace, name) {
  const found = await get(pathOf(kind, namespace, name), references);
  if (found?.kind !== 'References') {
    throw new Error('The server does not answer with references.');
  }
  return found;
}
