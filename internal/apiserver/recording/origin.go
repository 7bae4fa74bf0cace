package recording

import (
	"context"
	"net/http"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// origin is the request that makes a write, nil for a write that no request makes.
type origin struct{ *http.Request }

type originKey struct{}

func withOrigin(req *http.Request) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), originKey{}, origin{req}))
}

func originOf(ctx context.Context) origin {
	o, _ := ctx.Value(originKey{}).(origin)
	return o
}

// writer returns the client that makes a write, as the ownership of fields names it.
func (o origin) writer(user string) ownership.Writer {
	if o.Request == nil {
		return ownership.Writer{}
	}
	writer := ownership.ParseWriter(ownership.Request{
		Command: o.Header.Get(commandHeader), FieldManager: o.URL.Query().Get("fieldManager"), UserAgent: o.UserAgent(), User: user,
	})
	writer.Manager = value.CutBytes(writer.Manager, maxManager)
	return writer
}

// commandHeader is the request header in which kubectl names its command.
const commandHeader = "Kubectl-Command"
