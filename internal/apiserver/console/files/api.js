// Reads the API of the server that sent the page. Every request is a GET.

const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const report = 'application/json;as=Report;g=console.holdfast.dev;v=v1';
const objects = 'application/json;as=Objects;g=console.holdfast.dev;v=v1';
const overview = 'application/json;as=Overview;g=console.holdfast.dev;v=v1';
const history = 'application/json;as=FieldHistory;g=holdfast.dev;v=v1';
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
  if (kind.namespaced && (namespace !== '' || name !== '')) {
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
    return (await readObjects(kind, '')).items.map((item) => item.name);
  } catch {
    return [];
  }
}

/**
 * readObjects returns a part of the objects of a kind, with the columns that kubectl prints: at most 500, and where to go on. With text, it
 * has only those whose names contain the text.
 */
export async function readObjects(kind, namespace, { text = '', more = '' } = {}) {
  const query = new URLSearchParams({ limit: '500', ...(text === '' ? {} : { name: text }), ...(more === '' ? {} : { continue: more }) });
  const found = await get(`${pathOf(kind, namespace, '')}?${query}`, objects);
  if (found?.kind !== 'Objects') {
    throw new Error('The server does not answer with a list.');
  }
  return { columns: found.columns, items: found.items, looked: found.looked, more: found.continue ?? '' };
}

/** readOverview returns what there is to say about a part of the objects of a kind. */
export async function readOverview(kind, namespace, limit, more) {
  const query = new URLSearchParams({ limit: String(limit), ...(more === '' ? {} : { continue: more }) });
  const found = await get(`${pathOf(kind, namespace, '')}?${query}`, overview);
  if (found?.kind !== 'Overview') {
    throw new Error('The server does not answer with an overview.');
  }
  return { items: found.items, looked: found.looked, more: found.continue ?? '' };
}

/** readRefused returns the writes that the server refused in the last hour, the newest first. */
export async function readRefused() {
  const found = await get('/holdfast/refused-writes', 'application/json');
  if (found?.kind !== 'RefusedWriteList') {
    throw new Error('The server does not answer with refused writes.');
  }
  return found.items;
}

/**
 * checkNamespace throws an error if a namespace does not exist. It returns a sentence if the user may not know, and '' if the
 * namespace exists.
 */
export async function checkNamespace(kinds, name) {
  const kind = kinds.find((known) => known.group === '' && known.resource === 'namespaces');
  try {
    if (kind) {
      await get(pathOf(kind, '', name), report);
    }
  } catch (error) {
    if (error instanceof Refused && error.status === 404) {
      throw new Error(`The namespace ${name} does not exist.`);
    }
    if (error instanceof Refused && error.status === 403) {
      return `You may not get the namespace ${name}, so the page cannot tell whether it exists.`;
    }
    throw error;
  }
  return '';
}

/** readReport returns the report about an object. */
export async function readReport(kind, namespace, name) {
  const found = await get(pathOf(kind, namespace, name), report);
  if (found?.kind !== 'Report') {
    throw new Error('The server does not answer with a report.');
  }
  return found;
}

/**
 * readHistory returns the recorded changes of an object, or a sentence about why there are none to show. A server without history does not
 * know the media type, and so does not answer with the object instead.
 */
export async function readHistory(kind, namespace, name) {
  try {
    const found = await get(`${pathOf(kind, namespace, name)}?holdfast=history`, history);
    return found?.kind === 'FieldHistory' ? found : 'The server does not answer with a history.';
  } catch (error) {
    return error instanceof Refused && error.status === 406 ? 'This server records no history.' : `The history cannot be read: ${error.message}`;
  }
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
