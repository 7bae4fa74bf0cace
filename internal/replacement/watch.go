package replacement

import (
	"context"
	"net/http"
)

// A watch of a client shows a replacement as two events: the old object is deleted, and the new one is added. Between the two, a reader that
// keeps the objects has neither. Readers in the server that decide about requests must have one of them at every moment: rules and
// rights must not stop for the moment between the events. Their watches show a replacement as one event, MODIFIED, in which the object has
// another UID.
const (
	// ChangesHeader is a request header. With the value "as-changes", a watch shows a replacement as MODIFIED, with another UID.
	ChangesHeader = "Holdfast-Replacements"
	// ChangesValue is the value of ChangesHeader.
	ChangesValue = "as-changes"
)

type changesKey struct{}

// AsChanges returns a context in which a watch shows replacements as changes.
func AsChanges(ctx context.Context) context.Context {
	return context.WithValue(ctx, changesKey{}, true)
}

// ShowsChanges reports whether a watch with the context shows replacements as changes.
func ShowsChanges(ctx context.Context) bool {
	shows, _ := ctx.Value(changesKey{}).(bool)
	return shows
}

// RequestsChanges reports whether a request has ChangesHeader.
func RequestsChanges(req *http.Request) bool {
	return req.Header.Get(ChangesHeader) == ChangesValue
}
