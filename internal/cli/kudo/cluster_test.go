package kudo_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/waittest"
)

// cluster is one namespace of a server, with clients for it.
type cluster struct {
	servertest.Cluster
	server     *servertest.Server
	kubeconfig string
}

// start starts a Holdfast server, which has operator packages built in.
func start(t *testing.T) cluster {
	t.Helper()
	return clusterOf(t, servertest.Start(t, apiserver.Config{}))
}

// clusterOf returns the namespace default of a server, for its administrator.
func clusterOf(t *testing.T, server *servertest.Server) cluster {
	t.Helper()
	return cluster{Cluster: server.Cluster(t), server: server, kubeconfig: server.Kubeconfig()}
}

// enter creates a namespace in which pods can be created, and returns the cluster for it.
func (c cluster) enter(t *testing.T, namespace string) cluster {
	t.Helper()
	c.Namespace = servertest.CreateNamespace(t, c, namespace)
	return c
}

// bindEdit binds a subject to the role edit in the namespace.
func (c cluster) bindEdit(t *testing.T, subject rbacv1.Subject) {
	t.Helper()
	_, err := c.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: subject.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{subject},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// resource returns a client for a resource of kudo.dev.
func (c cluster) resource(resource string) dynamic.ResourceInterface {
	return c.Dynamic.Resource(api.GroupVersion.WithResource(resource)).Namespace(c.Namespace)
}

// kudo runs a command and returns what it prints.
func (c cluster) kudo(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := c.run(ctx, &out, args...)
	return out.String(), err
}

// run runs a command that prints to out.
func (c cluster) run(ctx context.Context, out io.Writer, args ...string) error {
	args = append([]string{"kudo"}, append(args, "--kubeconfig", c.kubeconfig, "--namespace", c.Namespace)...)
	return cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, args)
}

// offline runs a command that needs no server and returns what it prints.
func offline(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), args...)
	if err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// must waits until no plan is running, then runs a command that must succeed.
func (c cluster) must(t *testing.T, args ...string) string {
	t.Helper()
	c.awaitPlans(t)
	out, err := c.kudo(t.Context(), args...)
	if err != nil {
		t.Fatalf("kudo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// fails waits until no plan is running, then runs a command that must fail with an error.
func (c cluster) fails(t *testing.T, want string, args ...string) string {
	t.Helper()
	c.awaitPlans(t)
	out, err := c.kudo(t.Context(), args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("kudo %s: %v\nwant %s", strings.Join(args, " "), err, want)
	}
	return out
}

// awaitPlans waits until no plan in the namespace is running.
func (c cluster) awaitPlans(t *testing.T) {
	t.Helper()
	waittest.Until(t, "no plan runs", func() error {
		list, err := c.resource("instances").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if plan := typed(t, &list.Items[i]).RunningPlan(); plan != "" {
				return fmt.Errorf("%s runs %s", list.Items[i].GetName(), plan)
			}
		}
		return nil
	})
}

func (c cluster) instance(t *testing.T, name string) *api.Instance {
	t.Helper()
	object, err := c.resource("instances").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return typed(t, object)
}

func typed(t *testing.T, object *unstructured.Unstructured) *api.Instance {
	t.Helper()
	instance := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, instance); err != nil {
		t.Fatal(err)
	}
	return instance
}

func (c cluster) patch(ctx context.Context, name, patch string, subresources ...string) error {
	_, err := c.resource("instances").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// names returns the names of all objects of a resource.
func (c cluster) names(t *testing.T, resource string) string {
	t.Helper()
	list, err := c.resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return strings.Join(names, " ")
}

// folder writes files into a new folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tok writes a version of the package tok into a new folder and returns its path.
func tok(t *testing.T, version, params string) string {
	t.Helper()
	return folder(t, map[string]string{
		"operator.yaml": strings.ReplaceAll(`
apiVersion: kudo.dev/v1beta1
name: tok
operatorVersion: VERSION
appVersion: "1.0"
tasks:
- {name: app, kind: Apply, spec: {resources: [config.yaml]}}
- {name: fail, kind: Dummy, spec: {wantErr: true, fatal: true}}
plans:
  deploy:
    phases:
    - name: app
      steps:
      - {name: config, tasks: [app]}
  backup:
    phases:
    - name: save
      steps:
      - {name: copy, tasks: [app]}
  break:
    phases:
    - name: save
      steps:
      - {name: copy, tasks: [fail]}
`, "VERSION", version),
		"params.yaml": "apiVersion: kudo.dev/v1beta1\nparameters:\n" + params,
		"templates/config.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Name }}"}
data: {{ .Params | toYaml | nindent 2 }}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Name }}"}
stringData: {token: "hush-{{ .OperatorVersion }}"}
`,
	})
}

// The parameters of two versions. An upgrade between them has every case of the rules.
const (
	first = `
- {name: SIZE, type: integer, default: 3}
- {name: REALM, immutable: true}
- {name: ZONE, immutable: true, default: eu}
- {name: LATER, default: x}
- {name: FREE, immutable: true, default: f}
- {name: GONE, immutable: true, default: g}
`
	second = `
- {name: SIZE, type: integer, default: 5}
- {name: REALM, immutable: true}
- {name: ZONE, immutable: true, default: us}
- {name: LATER, immutable: true, default: x}
- {name: FREE, default: other}
- {name: NEW, immutable: true, default: D}
- {name: BARE, immutable: true}
`
)
