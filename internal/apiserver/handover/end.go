package handover

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/util/flowcontrol"
)

// AtEnd calls a function when the request of a context ends. A filter calls it when its next handler has returned. This is the end of the request,
// unless the handler still runs because the request was handed over.
func AtEnd(ctx context.Context, do func()) {
	if h := from(ctx); h != nil {
		h.afterwards(do)
		return
	}
	do()
}

// WriteTo makes the handler write to w if the request of a context is handed over. A filter calls it before its next handler. Without a call, the
// handler writes to the writer that Around got.
func WriteTo(ctx context.Context, w http.ResponseWriter) {
	if h := from(ctx); h != nil {
		h.writer = w
	}
}

// counting is a flow control that counts a watch until it ends.
type counting struct{ flowcontrol.Interface }

// RegisterWatch implements flowcontrol.Interface.
func (c counting) RegisterWatch(req *http.Request) flowcontrol.ForgetWatchFunc {
	forget := c.Interface.RegisterWatch(req)
	if forget == nil {
		return nil
	}
	return func() { AtEnd(req.Context(), forget) }
}
