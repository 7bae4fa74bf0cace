package helm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// timeout is the time limit of one Helm operation.
const timeout = waittest.Patience

// shop is one release of the chart, with client-side or server-side apply.
type shop struct {
	config     *action.Configuration
	namespace  string
	serverSide bool
	// said has the warnings that Helm got from the server.
	said *warnings
}

func newShop(t *testing.T, kubeconfig, namespace string, serverSide bool) shop {
	t.Helper()
	said := &warnings{}
	flags := genericclioptions.NewConfigFlags(false).WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.QPS, config.WarningHandler = -1, said
		return config
	})
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	config := action.NewConfiguration()
	if err := config.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return shop{config: config, namespace: namespace, serverSide: serverSide, said: said}
}

func (s shop) install(t *testing.T, values map[string]any) error {
	t.Helper()
	install := action.NewInstall(s.config)
	install.ReleaseName, install.Namespace, install.CreateNamespace = "shop", s.namespace, true
	install.ServerSideApply = s.serverSide
	install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, timeout
	_, err := install.Run(load(t), values)
	return err
}

// upgrade does not choose between client-side and server-side apply. Helm keeps
// the choice of the release.
func (s shop) upgrade(t *testing.T, values map[string]any) error {
	t.Helper()
	upgrade := action.NewUpgrade(s.config)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = s.namespace, kube.HookOnlyStrategy, timeout
	_, err := upgrade.Run("shop", load(t), values)
	return err
}

func (s shop) rollback(version int) error {
	rollback := action.NewRollback(s.config)
	rollback.Version, rollback.WaitStrategy, rollback.Timeout = version, kube.HookOnlyStrategy, timeout
	return rollback.Run("shop")
}

func (s shop) uninstall() error {
	uninstall := action.NewUninstall(s.config)
	uninstall.WaitStrategy, uninstall.Timeout = kube.HookOnlyStrategy, timeout
	_, err := uninstall.Run("shop")
	return err
}

// history returns the state of each revision, as `helm history` lists them.
func (s shop) history(t *testing.T) []string {
	t.Helper()
	revisions, err := action.NewHistory(s.config).Run("shop")
	if err != nil {
		t.Fatal(err)
	}
	states := make([]string, len(revisions))
	for _, revision := range revisions {
		accessor, err := release.NewAccessor(revision)
		if err != nil {
			t.Fatal(err)
		}
		states[accessor.Version()-1] = fmt.Sprintf("%d %s %s", accessor.Version(), accessor.Status(), accessor.ApplyMethod())
	}
	return states
}

func load(t *testing.T) chart.Charter {
	t.Helper()
	loaded, err := loader.Load("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestRelease(t *testing.T) {
	kubeconfig := servertest.Start(t, apiserver.Config{}).Kubeconfig()
	tests := map[string]struct {
		serverSide bool
		method     string
	}{
		"client-side": {serverSide: false, method: "csa"},
		"server-side": {serverSide: true, method: "ssa"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, kubeconfig, name, test.serverSide)
			cluster := read(t, kubeconfig, name)
			follow(t, s, cluster, test.method)
		})
	}
}

// follow installs, upgrades, rolls back and uninstalls a release.
func follow(t *testing.T, s shop, cluster cluster, method string) {
	expectHistory := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(strings.ReplaceAll(strings.Join(want, "\n"), "METHOD", method), strings.Join(s.history(t), "\n")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	}
	expect := func(want state) {
		t.Helper()
		if diff := cmp.Diff(want, cluster.state(t)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	}

	if err := s.install(t, nil); err != nil {
		t.Fatalf("install: %v", err)
	}
	installed := state{
		Objects: slices.Sorted(slices.Values(append([]string{"HorizontalPodAutoscaler/shop"}, always...))),
		Color:   "blue", Image: "nginx:1.27", Replicas: 2, Port: 80, Hook: "1",
	}
	expect(installed)
	expectHistory("1 deployed METHOD")

	changed := map[string]any{"color": "red", "image": "nginx:1.28", "replicas": 3, "port": 8080, "autoscaling": false}
	if err := s.upgrade(t, changed); err != nil {
		t.Fatalf("upgrade: %v", err)
	}
	upgraded := state{Objects: always, Color: "red", Image: "nginx:1.28", Replicas: 3, Port: 8080, Hook: "2"}
	expect(upgraded)
	expectHistory("1 superseded METHOD", "2 deployed METHOD")

	err := s.upgrade(t, map[string]any{"color": "green", "schedule": "whenever"})
	if err == nil || !strings.Contains(err.Error(), `spec.schedule: Invalid value: "whenever"`) {
		t.Errorf("an upgrade to an invalid object: %v", err)
	}
	expectHistory("1 superseded METHOD", "2 deployed METHOD", "3 failed METHOD")

	if err := s.rollback(1); err != nil {
		t.Fatalf("rollback: %v", err)
	}
	installed.Hook = "1"
	expect(installed)
	expectHistory("1 superseded METHOD", "2 superseded METHOD", "3 failed METHOD", "4 deployed METHOD")

	if err := s.uninstall(); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	expect(state{Hook: "1"})
	if releases := cluster.releases(t); len(releases) > 0 {
		t.Errorf("releases are left: %v", releases)
	}
	if said := s.said.take(); said != nil {
		t.Errorf("only Helm wrote the objects, and is told %q", said)
	}
}
