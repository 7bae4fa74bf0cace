package faults_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	hostilePath = "/api/v1/namespaces/default/configmaps"
	// memoryLimit is the documented bound of the memory under the attacks, in MB.
	memoryLimit = 1500
)

// Hostile clients attack a server, one attack after the other. Another user meanwhile gets an answer to
// every request, and the memory of the server stays below its bound.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.streams.alone = true // the objects of the attackers are too large
	server.start(t)
	grantEverything(t, server.client.Load())
	hostile := userConfig(t, server, "mallory")
	waitForRights(t, hostile)
	waitForRights(t, userConfig(t, server, "alice"))
	other, lasting := newOtherUser(t, server, "alice"), either(time.Second, 20*time.Second)
	calm := other.measure(t, lasting)
	for _, attack := range []struct {
		name string
		run  func(*attacker, context.Context)
	}{
		{"large objects", (*attacker).largeObjects},
		{"deep and wide bodies", (*attacker).bombs},
		{"idle connections", (*attacker).idleConnections},
		{"slow bodies", (*attacker).slowBodies},
		{"requests cancelled at once", (*attacker).rapidResets},
		{"watches opened and closed", (*attacker).watchStorm},
		{"watches never read", (*attacker).silentWatches},
		{"answers never read", (*attacker).silentReads},
	} {
		t.Run(attack.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), lasting)
			defer cancel()
			var running sync.WaitGroup
			peak := watchMemory(t, server)
			running.Go(func() { attack.run(&attacker{t: t, config: hostile}, ctx) })
			seen := other.measure(t, lasting)
			running.Wait()
			used := peak()
			t.Logf("other user: %s; undisturbed: %s; memory: %s", seen, calm, used)
			if used.anonymous > memoryLimit {
				t.Errorf("the server has %s, the bound is %d MB", used, memoryLimit)
			}
		})
	}
}

// grantEverything gives all rights to the two users, without the priority of an administrator.
func grantEverything(t *testing.T, c *client) {
	t.Helper()
	binding := yamltest.Map(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: users},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice},
    {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]}`)
	path := "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	waittest.Until(t, "the server creates the role binding", func() error { return c.create(t.Context(), path, binding).err })
}

// waitForRights waits until the server knows the role binding of a user.
func waitForRights(t *testing.T, config *rest.Config) {
	t.Helper()
	c, err := clientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server knows the role binding", func() error { return c.get(t.Context(), hostilePath).err })
}

// userConfig returns the client config of a user.
func userConfig(t *testing.T, s *server, user string) *rest.Config {
	t.Helper()
	config, err := impersonate(s.kubeconfig(), user)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// impersonate returns the client config of a user, from that of the administrator.
func impersonate(kubeconfig, user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config, nil
}
