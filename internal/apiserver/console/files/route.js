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

/**
 * hrefOf returns the link to an object, to a series of objects, or to the list of a kind if both names are empty. A list without a
 * namespace is one of all namespaces. With text, it has the objects whose names contain the text.
 */
export function hrefOf({ kind, namespace, name, series = '', text = '' }) {
  const query = new URLSearchParams({ kind: keyOf(kind) });
  if (kind.namespaced && namespace !== '') {
    query.set('namespace', namespace);
  }
  if (series !== '') {
    query.set('series', series);
  } else if (name !== '') {
    query.set('name', name);
  } else if (text !== '') {
    query.set('text', text);
  }
  return `#${query}`;
}

/** overviewOf returns the link to the overview of a namespace, or of all if it is empty. */
export function overviewOf(namespace) {
  return namespace === '' ? '#' : `#${new URLSearchParams({ view: 'overview', namespace })}`;
}

/** searchOf returns the link to a search. */
export function searchOf(text, namespace) {
  return `#${new URLSearchParams({ view: 'search', text, ...(namespace === '' ? {} : { namespace }) })}`;
}

/**
 * parseRoute reads a link. The view is overview, search, series, list or object, or nowhere with the reason for which the link leads
 * to nothing.
 */
export function parseRoute(hash, kinds) {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const of = (name) => query.get(name) ?? '';
  const namespace = of('namespace');
  if ([...query].length === 0 || of('view') === 'overview') {
    return { view: 'overview', namespace };
  }
  if (of('view') === 'search' && of('text').trim() !== '') {
    return { view: 'search', namespace, text: of('text').trim() };
  }
  const kind = kinds.find((known) => keyOf(known) === of('kind'));
  if (!kind) {
    return { view: 'nowhere', ...whyNowhere(of('kind'), kinds) };
  }
  const route = {
    kind, namespace: kind.namespaced ? namespace : '', name: of('name'), text: of('text'), series: hasSeries(kind) ? of('series') : '',
  };
  if (kind.namespaced && namespace === '' && (route.name !== '' || route.series !== '')) {
    return { view: 'nowhere', why: `The link names no namespace, and objects of the kind ${kind.kind} are in namespaces.`, kind };
  }
  return { ...route, view: route.series !== '' ? 'series' : route.name !== '' ? 'object' : 'list' };
}

/** whyNowhere explains a link to a kind that the server does not have, with a kind that may be meant. */
function whyNowhere(key, kinds) {
  if (key === '') {
    return { why: 'The link names no kind of objects.' };
  }
  const resource = key.split('/').at(-1);
  return {
    why: `This server serves no kind ${key}. Its definition may have been deleted, the link may be of another server, or you may not read the list of kinds.`,
    kind: kinds.find((known) => known.resource === resource && (key.split('/').length < 3 || known.group === key.split('/')[0])),
  };
}
