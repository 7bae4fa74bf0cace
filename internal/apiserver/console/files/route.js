// The part of the URL after # names what the page shows, so that a link can be shared. It never contains
// a credential, and a browser does not send it to the server.

/** keyOf returns the text that names a kind: apps/v1/deployments. */
export function keyOf(kind) {
  return [kind.group, kind.version, kind.resource].filter((part) => part !== '').join('/');
}

/** hasSeries reports whether the objects of a kind can be versions of a series. */
export function hasSeries(kind) {
  return ['v1/configmaps', 'v1/secrets'].includes(keyOf(kind));
}

/** hrefOf returns the link to an object, to a series of objects, or to the list of a kind if both names are empty. */
export function hrefOf({ kind, namespace, name, series = '' }) {
  const query = new URLSearchParams({ kind: keyOf(kind) });
  if (kind.namespaced) {
    query.set('namespace', namespace);
  }
  if (series !== '') {
    query.set('series', series);
  } else if (name !== '') {
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
  return {
    kind, namespace: kind.namespaced ? query.get('namespace') || 'default' : '', name: query.get('name') ?? '',
    series: hasSeries(kind) ? query.get('series') ?? '' : '',
  };
}
