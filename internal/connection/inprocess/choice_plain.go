//go:build plain

package inprocess

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// NewFactory returns a factory of informers that read through the API.
func NewFactory(server *connection.Connection, _ Source) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(server.Typed, 0)
}

// Objects returns nil, so that every reader asks the API.
func (Source) Objects(schema.GroupVersionResource) cache.ListerWatcherWithContext { return nil }
