package replacement

import "context"

type changesKey struct{}

// AsChanges returns a context in which a watch shows replacements as changes.
//
// A watch of a client shows a replacement as two events: the old object is deleted, and the new one is added. Between the two, a reader that
// keeps the objects has neither. Readers in the server that decide about requests must have one of them at every moment: rules and
// rights must not stop for the moment between the events. Their watches show a replacement as one event, MODIFIED, in which the object has
// another UID.
func AsChanges(ctx context.Context) context.Context {
	return context.WithValue(ctx, changesKey{}, true)
}

// ShowsChanges reports whether a watch with the context shows replacements as changes.
func ShowsChanges(ctx context.Context) bool {
	shows, _ := ctx.Value(changesKey{}).(bool)
	return shows
}
