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
// features switched, and has kubectl speak to it.
func startServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server DIRECTORY [FEATURE=BOOL...]")
	}
	own, ok := ts.Value(ownServer{}).(*ownServer)
	if !ok {
		ts.Fatalf("server: the script has no place for one")
	}
	features := native.NewFeatures()
	ts.Check(features.Set(strings.Join(args[1:], ",")))
	if own.Server == nil {
		ts.Defer(func() { ts.Check(own.Stop()) })
	} else {
		ts.Check(own.Stop())
	}
	server, err := servertest.Launch(apiserver.Config{DataDir: ts.MkAbs(args[0]), Features: features})
	ts.Check(err)
	own.Server = server
	ts.Setenv("KUBECONFIG", server.Kubeconfig())
}
