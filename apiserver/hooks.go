package apiserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// farewell is how long a shutdown waits, while the server still answers, for those
// who have something to write before it ends.
const farewell = time.Second

// onStart has something done once the server serves; it is not ready before. What
// fails ends the server, and Run returns why. Upstream would end the process where it
// stands, also when it is the end of the server that made a hook fail.
func (s *Server) onStart(name string, do func(genericapiserver.PostStartHookContext) error) error {
	return s.generic.AddPostStartHook(name, func(hook genericapiserver.PostStartHookContext) error {
		err := do(hook)
		if err == nil {
			return nil
		}
		if hook.Err() == nil {
			select {
			case s.failed <- fmt.Errorf("%s: %w", name, err):
			default: // another was first
			}
		}
		// Who returns counts as ready.
		<-hook.Done()
		return nil
	})
}

// onEnd has something done before the server stops to answer, side by side with all
// else and until ctx ends.
func (s *Server) onEnd(do func(ctx context.Context)) { s.endings = append(s.endings, do) }

// addFarewell has done what onEnd was told.
func (s *Server) addFarewell() error {
	return s.generic.AddPreShutdownHook("farewell", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		var endings sync.WaitGroup
		for _, do := range s.endings {
			endings.Go(func() { do(ctx) })
		}
		endings.Wait()
		return nil
	})
}

// whileServing runs something from the time that the server serves until it is to
// end, and gives it time to come to an end itself.
func (s *Server) whileServing(name string, run func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(context.Background())
	begun, done := make(chan struct{}), make(chan struct{})
	s.onEnd(func(farewell context.Context) {
		cancel()
		select {
		case <-begun:
		default:
			return // a start that was called off
		}
		select {
		case <-done:
		case <-farewell.Done():
		}
	})
	return s.onStart(name, func(genericapiserver.PostStartHookContext) error {
		close(begun)
		go func() {
			defer close(done)
			run(ctx)
		}()
		return nil
	})
}
