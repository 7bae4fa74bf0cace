// The part of the URL after # names what the page shows, so that a link can be shared. It never contains
// a credential, and a browser does not send it to the server.

/** keyOf returns the text that names a kind: apps/v1/deployments. */
export function keyOf(kind) {
  return [kind.group, kind.version, kind.resource].filter((part) => part !== '').join('/');
}

/** hrefOf returns the link to an object, or to the list of a kind if the name is empty. */
export function hrefOf({ kind, namespace, name }) {
  const query = new URLSearchParams({ kind: keyOf(kind) });
  if (kind.namespaced) {
    query.set('namespace', namespace);
  }
  if (name !== '') {
    query.set('name', name);
  }
  return `#${query}`;
}

/** parseRoute reads a link. It returns null if the link names no kind of the server. */
export function parseRoute(hash, kinds) {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const kind = kinds.find((known) => keyOf(known) === query.get('kind'));
  if (!kind) {
    return null;
  }
  return { kind, namespace: kind.namespaced ? query.get('namespace') || 'default' : '', name: query.get('name') ?? '' };
}
