package doctor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// ruled are a definition and a policy with exceptions for users with a verb, and roles that give the verbs.
var ruled = []struct{ path, object string }{
	{"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bells.doctor.example.com, annotations: {holdfast.dev/immutability: immutable spec.size unless resize}}
spec:
  group: doctor.example.com
  scope: Namespaced
  names: {plural: bells, kind: Bell}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}}
`},
	{"/apis/guard.holdfast.dev/v1beta1/immutabilitypolicies", `{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: used},
  spec: {resources: [configmaps, absent.example.com], rules: [no-delete unless retire], structuredRules: [{constraint: immutable, path: data, unless: refill}]}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: resizers},
  rules: [{apiGroups: [doctor.example.com], resources: [bells], verbs: [resize]}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: some},
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [retire], resourceNames: [a, b]}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: resizers},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: resizers},
  subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}, {kind: ServiceAccount, namespace: shop, name: tuner}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: some},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: some}, subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: ops}]}`},
}

func createRuled(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for _, object := range ruled {
		err := client.Discovery().RESTClient().Post().AbsPath(object.path).SetHeader("Content-Type", "application/json").
			Body(yamltest.JSON(t, object.object)).Do(t.Context()).Error()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// blanks are the blanks between columns.
var blanks = regexp.MustCompile(` +`)

// awaitOutput runs the command until its output, with one blank between columns, has all texts. It returns the exit code.
func awaitOutput(t *testing.T, kubeconfig string, texts ...string) int {
	t.Helper()
	out, code := "", 0
	waittest.Until(t, strings.Join(texts, ", "), func() bool {
		out, code = run(t, "--kubeconfig", kubeconfig)
		out = blanks.ReplaceAllString(out, " ")
		for _, text := range texts {
			if !strings.Contains(out, text) {
				return false
			}
		}
		return true
	})
	return code
}

// TestRights checks that the command lists the users that may break rules.
func TestRights(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{Version: "test"})
	out, _ := run(t, "--kubeconfig", server.Kubeconfig())
	want(t, out, "no rule has an exception for users with a verb")
	createRuled(t, server.Client(t))
	const masters = "Group system:masters (ClusterRole cluster-admin, which has all verbs)"
	awaitOutput(t, server.Kubeconfig(),
		"rights ok resize bells.doctor.example.com: "+masters+", ServiceAccount shop/tuner (ClusterRole resizers), User bob (ClusterRole resizers)\n",
		"retire configmaps: Group ops in default (Role some, only a b), "+masters+"\n", "refill configmaps: "+masters+"\n")
}

// TestRuleFiles checks the findings about files of --rules-dir: wrong ones, and servers of one etcd with different files.
func TestRuleFiles(t *testing.T) {
	t.Parallel()
	const filed = "{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: filed}, spec: {resources: [configmaps], rules: [%]}}"
	put := func(dir, rule string) {
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(strings.Replace(filed, "%", rule, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		put(dir, "immutable data")
	}
	single := servertest.Start(t, apiserver.Config{RulesDir: dirs[0], Version: "test"})
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	one := servertest.Start(t, apiserver.Config{Etcd: cluster, AdvertiseAddress: "192.0.2.10", RulesDir: dirs[1], Version: "test"})
	servertest.Start(t, apiserver.Config{Etcd: cluster, AdvertiseAddress: "192.0.2.11", RulesDir: dirs[2], Version: "test"})
	for _, server := range []*servertest.Server{single, one} {
		out, _ := run(t, "--kubeconfig", server.Kubeconfig())
		want(t, out, "the policies in files are in force as the files are")
	}
	put(dirs[0], "frozen data")
	put(dirs[2], "immutable binaryData")
	if code := awaitOutput(t, single.Kubeconfig(), "a file of --rules-dir of this server is wrong"); code != 1 {
		t.Errorf("exit code %d for a wrong file", code)
	}
	awaitOutput(t, one.Kubeconfig(), "the servers have different files of --rules-dir, and each enforces its own (digests: 192.0.2.10:", "; 192.0.2.11:")
	put(dirs[2], "frozen data")
	awaitOutput(t, one.Kubeconfig(), "a file of --rules-dir of server 192.0.2.11:", `a.yaml:1: spec.rules[0]: Invalid value: "frozen data"`)
}
