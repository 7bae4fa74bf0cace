// Package scripttest runs the scripts of a command in tests, with the package testscript.
//
//	scripttest.Run(t, scripttest.Commands{"eventually": eventually})
//
// The command of a script `exits CODE PROGRAM [ARGS...]` checks an exit code, and `as [USER]` makes the following commands those of another
// user, or of the administrator.
package scripttest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// Commands are the commands of scripts, by their names.
type Commands map[string]func(ts *testscript.TestScript, neg bool, args []string)

// Run runs the scripts in testdata on one server, each in a namespace of its own. They have the commands as and exits besides those of
// the caller. UPDATE_SCRIPTS=1 writes the expected outputs.
func Run(t *testing.T, own Commands) {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	commands := Commands{"as": as, "exits": Exits}
	maps.Copy(commands, own)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			servertest.CreateNamespace(t, client, name)
			env.Setenv("NAMESPACE", name)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("ADMIN", server.Kubeconfig())
			return writeKubeconfig(env.Getenv, env.Setenv, "")
		},
		Cmds: commands,
	})
}

// writeKubeconfig writes a kubeconfig for the namespace of the script, and a user if it is not the administrator.
func writeKubeconfig(get func(string) string, set func(key, value string), user string) error {
	config, err := clientcmd.LoadFromFile(get("ADMIN"))
	if err != nil {
		return err
	}
	for _, context := range config.Contexts {
		context.Namespace = get("NAMESPACE")
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	file := filepath.Join(get("WORK"), "kubeconfig"+user)
	set("KUBECONFIG", file)
	return clientcmd.WriteToFile(*config, file)
}

// as is the script command that makes the following commands those of another user. Without a name it is the administrator.
func as(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(writeKubeconfig(ts.Getenv, ts.Setenv, strings.Join(args, "")))
}

// Exits is the script command that runs a program and checks its exit code.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
