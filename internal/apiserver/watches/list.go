package watches

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/component-base/tracing"
)

// slowList is how long the list at the begin of a watch takes if the library logs its steps.
const slowList = 500 * time.Millisecond

// list is the list with which a watch begins, until it is sent.
type list struct {
	scope string
	span  *tracing.Span
}

func beginList(ctx context.Context, req *http.Request, scope string) *list {
	_, span := tracing.Start(ctx, "WatchList", attribute.String("audit-id", audit.GetAuditIDTruncated(ctx)), attribute.String("url", req.URL.Path))
	return &list{scope: scope, span: span}
}

// endsWith reports whether an event is the bookmark behind the list.
func (l *list) endsWith(ctx context.Context, event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	last, err := storage.HasInitialEventsEndBookmarkAnnotation(event.Object)
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Unable to determine if the object has the required annotation for measuring watchlist latency")
	}
	return last
}

// end measures how long the list took.
func (l *list) end(ctx context.Context, at schema.GroupVersionResource) {
	if received, ok := request.ReceivedTimestampFrom(ctx); ok {
		metrics.RecordWatchListLatency(ctx, at, l.scope, time.Since(received))
	}
	l.span.End(slowList)
}
