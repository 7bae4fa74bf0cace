package limit_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// namespace is a namespace with LimitRanges.
type namespace struct {
	testing.TB
	kubernetes.Interface
	name string
}

// newNamespace creates a namespace with one LimitRange for each of limits, and waits
// until the admission plugin enforces them.
func newNamespace(t testing.TB, client kubernetes.Interface, limits ...string) namespace {
	t.Helper()
	n := namespace{TB: t, Interface: client, name: servertest.CreateNamespace(t, client, "limits-")}
	// The plugin sees LimitRanges in the order of their creation. When the last one is
	// enforced, all are.
	for i, limit := range append(limits, `[{type: PersistentVolumeClaim, min: {storage: 2}}]`) {
		created := yamltest.Decode[corev1.LimitRange](t, `{spec: {limits: `+limit+`}}`)
		created.Name = fmt.Sprintf("limits-%d", i)
		if _, err := client.CoreV1().LimitRanges(n.name).Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "limits are enforced", func() bool {
		return apierrors.IsForbidden(n.createClaim("probe", "1", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	})
	return n
}

func (n namespace) createPod(manifest string, options metav1.CreateOptions) (*corev1.Pod, error) {
	return n.CoreV1().Pods(n.name).Create(n.Context(), yamltest.Decode[corev1.Pod](n, manifest), options)
}

func (n namespace) createClaim(name, storage string, options metav1.CreateOptions) error {
	claim := yamltest.Decode[corev1.PersistentVolumeClaim](n,
		`{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: `+storage+`}}}}`)
	claim.Name = name
	_, err := n.CoreV1().PersistentVolumeClaims(n.name).Create(n.Context(), claim, options)
	return err
}

func TestLimits(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	t.Run("defaults", func(t *testing.T) { testDefaults(t, client) })
	t.Run("violations", func(t *testing.T) { testViolations(t, client) })
	t.Run("claims", func(t *testing.T) { testClaims(t, client) })
	t.Run("updates", func(t *testing.T) { testUpdates(t, client) })
}

func testDefaults(t *testing.T, client kubernetes.Interface) {
	const all = `[{type: Container, default: {cpu: 500m, memory: 64Mi}, defaultRequest: {cpu: 100m, memory: 32Mi}}]`
	tests := map[string]struct {
		limits                       []string
		pod, wantInit, wantContainer string
		wantAnnotation               string
	}{
		"container without resources": {
			limits:         []string{all},
			pod:            `{containers: [{name: c, image: i}]}`,
			wantContainer:  `{requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 500m, memory: 64Mi}}`,
			wantAnnotation: "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c",
		},
		"containers with some resources": {
			limits: []string{all},
			pod: `{initContainers: [{name: i, image: i, resources: {requests: {cpu: 1m, memory: 1Mi}}}],
				containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}`,
			wantInit:      `{requests: {cpu: 1m, memory: 1Mi}, limits: {cpu: 500m, memory: 64Mi}}`,
			wantContainer: `{requests: {cpu: 1, memory: 32Mi}, limits: {cpu: 1, memory: 64Mi}}`,
			wantAnnotation: "LimitRanger plugin set: memory request for container c; memory limit for container c; " +
				"cpu, memory limit for init container i",
		},
		"container with all resources": {
			limits: []string{all},
			pod: `{containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Mi},
				limits: {cpu: 1, memory: 1Mi}}}]}`,
			wantContainer: `{requests: {cpu: 1, memory: 1Mi}, limits: {cpu: 1, memory: 1Mi}}`,
		},
		"maximum is the default": {
			limits:         []string{`[{type: Container, max: {cpu: 2}}]`},
			pod:            `{containers: [{name: c, image: i}]}`,
			wantContainer:  `{requests: {cpu: 2}, limits: {cpu: 2}}`,
			wantAnnotation: "LimitRanger plugin set: cpu request for container c; cpu limit for container c",
		},
		"limits of type Pod have no defaults": {
			limits:        []string{`[{type: Pod, maxLimitRequestRatio: {cpu: 2}}]`},
			pod:           `{containers: [{name: c, image: i, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}]}`,
			wantContainer: `{requests: {cpu: 1}, limits: {cpu: 1}}`,
		},
		"first of two LimitRanges": {
			limits:         []string{`[{type: Container, default: {cpu: 1}}]`, `[{type: Container, default: {cpu: 2}}]`},
			pod:            `{containers: [{name: c, image: i}]}`,
			wantContainer:  `{requests: {cpu: 1}, limits: {cpu: 1}}`,
			wantAnnotation: "LimitRanger plugin set: cpu request for container c; cpu limit for container c",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespace(t, client, test.limits...)
			pod, err := n.createPod(`{metadata: {name: a}, spec: `+test.pod+`}`, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := *yamltest.Decode[corev1.ResourceRequirements](t, test.wantContainer)
			if diff := cmp.Diff(want, pod.Spec.Containers[0].Resources); diff != "" {
				t.Errorf("container (-want +got):\n%s", diff)
			}
			if test.wantInit != "" {
				want := *yamltest.Decode[corev1.ResourceRequirements](t, test.wantInit)
				if diff := cmp.Diff(want, pod.Spec.InitContainers[0].Resources); diff != "" {
					t.Errorf("init container (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(test.wantAnnotation, pod.Annotations["kubernetes.io/limit-ranger"]); diff != "" {
				t.Errorf("annotation (-want +got):\n%s", diff)
			}
		})
	}
}

func testViolations(t *testing.T, client kubernetes.Interface) {
	tests := map[string]struct {
		limits    []string
		pod, want string
	}{
		"minimum": {
			limits: []string{`[{type: Container, min: {cpu: 100m, memory: 10Mi}}]`},
			pod: `{initContainers: [{name: i, image: i, resources: {requests: {cpu: 50m, memory: 10Mi}}}],
				containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 9Mi}}}]}`,
			want: `[minimum memory usage per Container is 10Mi, but request is 9Mi, ` +
				`minimum cpu usage per Container is 100m, but request is 50m]`,
		},
		"maximum": {
			limits: []string{`[{type: Container, max: {cpu: 1, memory: 10Mi}}]`},
			pod:    `{containers: [{name: c, image: i, resources: {limits: {cpu: 2, memory: 11Mi}}}]}`,
			want: `[maximum cpu usage per Container is 1, but limit is 2, ` +
				`maximum memory usage per Container is 10Mi, but limit is 11Mi]`,
		},
		"ratio": {
			limits: []string{`[{type: Container, maxLimitRequestRatio: {cpu: 3, memory: 2}}]`},
			pod: `{containers: [{name: c, image: i, resources: {requests: {cpu: 300m, memory: 1Mi},
				limits: {cpu: 900m, memory: 3Mi}}}]}`,
			want: `memory max limit to request ratio per Container is 2, but provided ratio is 3.000000`,
		},
		"ratio without request or limit": {
			limits: []string{`[{type: Container, maxLimitRequestRatio: {cpu: 2, memory: 2}}]`},
			pod:    `{containers: [{name: c, image: i, resources: {requests: {memory: 1Mi}}}]}`,
			want: `[cpu max limit to request ratio per Container is 2, but no request is specified or request is 0, ` +
				`memory max limit to request ratio per Container is 2, but no limit is specified or limit is 0]`,
		},
		"pod": {
			limits: []string{`[{type: Pod, min: {memory: 3Mi}, max: {cpu: 1}}]`},
			pod: `{overhead: {memory: 5Mi}, containers: [
				{name: c, image: i, resources: {requests: {memory: 1Mi}, limits: {cpu: 600m}}},
				{name: d, image: i, resources: {requests: {memory: 1Mi}, limits: {cpu: 600m}}}]}`,
			want: `[minimum memory usage per Pod is 3Mi, but request is 2Mi, maximum cpu usage per Pod is 1, but limit is 1200m]`,
		},
		"pod without resources": {
			limits: []string{`[{type: Pod, min: {memory: 3Mi}, max: {cpu: 1}}]`},
			pod:    `{containers: [{name: c, image: i}]}`,
			want: `[minimum memory usage per Pod is 3Mi.  No request is specified, ` +
				`maximum cpu usage per Pod is 1.  No limit is specified]`,
		},
		"two LimitRanges": {
			limits: []string{`[{type: Pod, max: {cpu: 1}}]`, `[{type: Pod, max: {memory: 1Mi}}]`},
			pod:    `{containers: [{name: c, image: i, resources: {limits: {cpu: 2, memory: 2Mi}}}]}`,
			want:   `[maximum cpu usage per Pod is 1, but limit is 2, maximum memory usage per Pod is 1Mi, but limit is 2Mi]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespace(t, client, test.limits...)
			_, err := n.createPod(`{metadata: {name: a}, spec: `+test.pod+`}`, metav1.CreateOptions{})
			if want := `pods "a" is forbidden: ` + test.want; !apierrors.IsForbidden(err) || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func testClaims(t *testing.T, client kubernetes.Interface) {
	const forbidden = `persistentvolumeclaims "a" is forbidden: `
	const tooSmall = forbidden + `minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi`
	const tooLarge = forbidden + `maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi`
	n := newNamespace(t, client, `[{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 2Gi}}]`)
	for storage, want := range map[string]string{"512Mi": tooSmall, "3Gi": tooLarge} {
		if err := n.createClaim("a", storage, metav1.CreateOptions{}); !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := n.createClaim("a", "1Gi", metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claims := client.CoreV1().PersistentVolumeClaims(n.name)
	// Validation lets only bound claims grow.
	bound := []byte(`{"status": {"phase": "Bound"}}`)
	if _, err := claims.Patch(t.Context(), "a", types.MergePatchType, bound, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	grow := []byte(`{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}`)
	_, err := claims.Patch(t.Context(), "a", types.MergePatchType, grow, metav1.PatchOptions{})
	if err == nil || err.Error() != tooLarge {
		t.Errorf("got %v, want %s", err, tooLarge)
	}
}

// testUpdates checks objects that violate a LimitRange that was created after them. A
// pod can be updated, and a claim can be deleted.
func testUpdates(t *testing.T, client kubernetes.Interface) {
	n := newNamespace(t, client)
	pod, err := n.createPod(`{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim := yamltest.Decode[corev1.PersistentVolumeClaim](t, `
metadata: {name: a, finalizers: [example.com/hold]}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`)
	claims := client.CoreV1().PersistentVolumeClaims(n.name)
	if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	limit := yamltest.Decode[corev1.LimitRange](t, `
metadata: {name: late}
spec: {limits: [{type: Container, min: {cpu: 1}}, {type: PersistentVolumeClaim, min: {storage: 5Gi}}]}`)
	if _, err := client.CoreV1().LimitRanges(n.name).Create(t.Context(), limit, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	label := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	waittest.Until(t, "the new limit is enforced on claims", func() bool {
		_, err := claims.Patch(t.Context(), "a", types.MergePatchType, label, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
	pods := client.CoreV1().Pods(n.name)
	if _, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Errorf("update of a pod: %v", err)
	}
	if err := claims.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	release := []byte(`{"metadata": {"finalizers": null}}`)
	if _, err := claims.Patch(t.Context(), "a", types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Errorf("removal of a finalizer from a deleted claim: %v", err)
	}
}
