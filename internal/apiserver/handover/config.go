package handover

import (
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
)

// Config is what the handover of watches needs of a server.
type Config struct {
	// Resolver reads what a request is about.
	Resolver request.RequestInfoResolver
	// Group counts the watches for which a shutdown waits.
	Group filters.RequestWaitGroup
	// IsAudited says that the server has an audit log.
	IsAudited bool
}
