package kubectl_test

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
)

// ownServer is the server that a script has started. Its type is the key under
// which the script finds it.
type ownServer struct{ *servertest.Server }

// serve is the script command server. It stops the server that the script
// started before, if any, starts another one with the given data directory and
// feature gates, and makes it the server of the following commands. With
// --operators=false the server has no operator packages.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server DIRECTORY [--operators=false] [FEATURE=BOOL...]")
	}
	own, ok := ts.Value(ownServer{}).(*ownServer)
	if !ok {
		ts.Fatalf("server: the script has no place for one")
	}
	config := apiserver.Config{DataDir: ts.MkAbs(args[0])}
	args = args[1:]
	if len(args) > 0 && args[0] == "--operators=false" {
		config.WithoutOperators = true
		args = args[1:]
	}
	features := native.NewFeatures()
	ts.Check(features.Set(strings.Join(args, ",")))
	config.Features = features
	if own.Server == nil {
		ts.Defer(func() { ts.Check(own.Stop()) })
	} else {
		ts.Check(own.Stop())
	}
	server, err := servertest.Launch(config)
	ts.Check(err)
	own.Server = server
	ts.Setenv("KUBECONFIG", server.Kubeconfig())
}
