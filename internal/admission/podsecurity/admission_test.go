package podsecurity_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	label = "pod-security.kubernetes.io/"

	privileged = `{containers: [{name: c, image: i, securityContext: {privileged: true}}]}`
	host       = `{hostNetwork: true, containers: [{name: c, image: i}]}`
	plain      = `{containers: [{name: c, image: i}]}`
	restricted = `{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: c, image: i,
		securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}`

	// unrestricted are the violations of the pod plain.
	unrestricted = `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
		`unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ` +
		`runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ` +
		`seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`
	isPrivileged = `privileged (container "c" must not set securityContext.privileged=true)`
)

// warnings collects the warnings of a client.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// cluster is a client and its warnings.
type cluster struct {
	kubernetes.Interface
	*warnings
}

// recording returns a client that records its warnings.
func recording(config *rest.Config) cluster {
	w := &warnings{}
	config.WarningHandler = w
	return cluster{kubernetes.NewForConfigOrDie(config), w}
}

// newNamespace creates a namespace with the labels pod-security.kubernetes.io/...
func (c cluster) newNamespace(t testing.TB, labels map[string]string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "secure-", Labels: map[string]string{}}}
	for key, value := range labels {
		namespace.Labels[label+key] = value
	}
	created, err := c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	servertest.AwaitAccount(t, c, created.Name)
	return created.Name
}

func (c cluster) createPod(t testing.TB, namespace, name, manifest string) error {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *yamltest.Decode[corev1.PodSpec](t, manifest)}
	_, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	return err
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPodSecurity(t *testing.T) {
	c := recording(servertest.Start(t, apiserver.Config{}).Config(t))
	t.Run("pods", func(t *testing.T) { testPods(t, c) })
	t.Run("workloads", func(t *testing.T) { testWorkloads(t, c) })
	t.Run("labels", func(t *testing.T) { testLabels(t, c) })
	t.Run("existing pods", func(t *testing.T) { testExistingPods(t, c) })
	t.Run("metrics", func(t *testing.T) { testMetrics(t, c) })
}

func testPods(t *testing.T, c cluster) {
	const violates = `pods "p" is forbidden: violates PodSecurity `
	tests := map[string]struct {
		labels   map[string]string
		pod      string
		want     string
		warnings []string
	}{
		"no labels": {pod: privileged},
		"privileged": {
			labels: map[string]string{"enforce": "privileged"}, pod: privileged,
		},
		"baseline": {
			labels: map[string]string{"enforce": "baseline"}, pod: privileged,
			want: violates + `"baseline:latest": ` + isPrivileged,
		},
		"baseline, host network": {
			labels: map[string]string{"enforce": "baseline"}, pod: host,
			want: violates + `"baseline:latest": host namespaces (hostNetwork=true)`,
		},
		"baseline allows": {labels: map[string]string{"enforce": "baseline"}, pod: plain},
		"restricted": {
			labels: map[string]string{"enforce": "restricted"}, pod: privileged,
			want: violates + `"restricted:latest": ` + isPrivileged + `, ` + unrestricted,
		},
		"restricted allows": {labels: map[string]string{"enforce": "restricted", "warn": "restricted"}, pod: restricted},
		"version": {
			labels: map[string]string{"enforce": "restricted", "enforce-version": "v1.0"}, pod: plain,
			want: violates + `"restricted:v1.0": ` +
				`runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`,
		},
		"warning": {
			labels: map[string]string{"enforce": "baseline", "warn": "restricted"}, pod: plain,
			warnings: []string{`would violate PodSecurity "restricted:latest": ` + unrestricted},
		},
		"no warning about a rejected pod": {
			labels: map[string]string{"enforce": "baseline", "warn": "restricted"}, pod: privileged,
			want: violates + `"baseline:latest": ` + isPrivileged,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			namespace := c.newNamespace(t, test.labels)
			c.take()
			if err := c.createPod(t, namespace, "p", test.pod); message(err) != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
			if diff := cmp.Diff(test.warnings, c.take()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A workload is accepted with a warning: only its pods are rejected.
func testWorkloads(t *testing.T, c cluster) {
	namespace := c.newNamespace(t, map[string]string{"enforce": "restricted", "warn": "restricted"})
	c.take()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *yamltest.Decode[corev1.PodSpec](t, plain)},
	}}
	if _, err := c.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{`would violate PodSecurity "restricted:latest": ` + unrestricted}
	if diff := cmp.Diff(want, c.take()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	// The subresource scale does not change the pod template.
	patch := []byte(`{"spec":{"replicas":2}}`)
	if _, err := c.AppsV1().Deployments(namespace).Patch(t.Context(), "web", types.MergePatchType, patch,
		metav1.PatchOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	if said := c.take(); len(said) > 0 {
		t.Errorf("warnings about a scale: %v", said)
	}
}

// The server rejects labels that name no standard, and lets an object with such labels
// change otherwise.
func testLabels(t *testing.T, c cluster) {
	namespaces := c.CoreV1().Namespaces()
	for name, test := range map[string]struct{ key, value, want string }{
		"level": {
			"enforce", "strict",
			`metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted`,
		},
		"version": {
			"warn-version", "1.2",
			`metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "odd", Labels: map[string]string{label + test.key: test.value}}}
			_, err := namespaces.Create(t.Context(), namespace, metav1.CreateOptions{})
			if want := `Namespace "odd" is invalid: ` + test.want; message(err) != want || !apierrors.IsInvalid(err) {
				t.Errorf("create: %v\nwant    %s", err, want)
			}
			valid := c.newNamespace(t, nil)
			patch := []byte(`{"metadata":{"labels":{"` + label + test.key + `":"` + test.value + `"}}}`)
			_, err = namespaces.Patch(t.Context(), valid, types.MergePatchType, patch, metav1.PatchOptions{})
			if want := `Namespace "` + valid + `" is invalid: ` + test.want; message(err) != want {
				t.Errorf("update: %v\nwant    %s", err, want)
			}
		})
	}
}

// A stricter label is accepted, with a warning about the pods that exist.
func testExistingPods(t *testing.T, c cluster) {
	namespace := c.newNamespace(t, nil)
	for _, pod := range []struct{ name, manifest string }{{"a", privileged}, {"b", privileged}, {"c", restricted}} {
		if err := c.createPod(t, namespace, pod.name, pod.manifest); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`existing pods in namespace "` + namespace + `" violate the new PodSecurity enforce level "baseline:latest"`,
		`a (and 1 other pod): privileged`,
	}
	// The plugin lists pods from an informer, which may not have the last pod yet.
	waittest.Until(t, "warnings about the pods", func() bool {
		c.take()
		patch := []byte(`{"metadata":{"labels":{"` + label + `enforce":"baseline"}}}`)
		options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
		if _, err := c.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, patch, options); err != nil {
			t.Fatal(err)
		}
		return slices.Equal(c.take(), want)
	})
}

func testMetrics(t *testing.T, c cluster) {
	data, err := c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const counter = `pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="restricted",policy_version="latest",`
	if !strings.Contains(string(data), counter) {
		t.Errorf("no counter %s", counter)
	}
}

// The audit log has the standards that a pod violates.
func TestAuditAnnotations(t *testing.T) {
	t.Parallel()
	policy, log := filepath.Join(t.TempDir(), "policy.yaml"), filepath.Join(t.TempDir(), "audit.log")
	const rules = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
		"rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["pods"]}]}]}`
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{Audit: config.Audit{PolicyFile: policy, LogPath: log}})
	c := recording(server.Config(t))
	namespace := c.newNamespace(t, map[string]string{"enforce": "baseline", "audit": "restricted"})
	if err := c.createPod(t, namespace, "p", plain); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"pod-security.kubernetes.io/enforce-policy":"baseline:latest"`,
		`"pod-security.kubernetes.io/audit-violations":"would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the log does not have %s", want)
		}
	}
}
