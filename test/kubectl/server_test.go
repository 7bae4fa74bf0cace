package kubectl_test

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/native"
)

// ownServer is what a script has under its type: the server that it started.
type ownServer struct{ *servertest.Server }

// startServer is the script command server: it stops the server that the script
// started before, if it did, starts one in a directory of the script, with
// features switched and perhaps without operator packages, and has kubectl speak
// to it.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
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
