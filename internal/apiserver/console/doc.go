// Package console serves the console: a page that shows why a field of an object cannot change,
// which client owns it, and what an apply would change back.
//
// The page is a set of static files at [Path]. The data is a report about one object: the answer
// to a GET of the object with the media type [MediaType]. The server authenticates, authorizes and
// audits this request like every get of the object. A report contains no value of a Secret. The versions
// of a series are the answer to a list with [SeriesType].
//
//	handler = reports.Wrap(handler)         // answers requests for reports
//	reports.Start(console.Sources{...})     // before the server serves
//	mux.HandlePrefix(console.Path, console.Files())
//
// The console only reads. Texts in reports come from objects and may be hostile: the page shows
// them as text, never as HTML, and its Content-Security-Policy allows no inline code. Everything
// here is safe for concurrent use.
package console
