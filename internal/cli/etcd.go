package cli

import (
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

// serveEtcd runs etcd with the flags of etcd, and ends the process. It is for test suites, which
// start a single member. Short intervals make this member elect itself sooner.
func serveEtcd(args []string) {
	for _, flag := range []string{"--heartbeat-interval=10", "--election-timeout=100"} {
		name, _, _ := strings.Cut(flag, "=")
		given := func(arg string) bool { return arg == name || strings.HasPrefix(arg, name+"=") }
		if !slices.ContainsFunc(args, given) {
			args = slices.Insert(slices.Clone(args), 1, flag)
		}
	}
	etcdmain.Main(args)
}
