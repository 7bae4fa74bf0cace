package apiserver

import genericapiserver "k8s.io/apiserver/pkg/server"

// OnStart is for tests.
func (s *Server) OnStart(name string, do func() error) error {
	return s.hooks.onStart(name, func(genericapiserver.PostStartHookContext) error { return do() })
}
