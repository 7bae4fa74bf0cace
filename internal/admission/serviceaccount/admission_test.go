package serviceaccount_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/admission/serviceaccount"
	"holdfast.dev/holdfast/internal/yamltest"
)

const accounts = `
- metadata: {name: default, namespace: ns}
- metadata: {name: quiet, namespace: ns}
  automountServiceAccountToken: false
- metadata: {name: puller, namespace: ns}
  automountServiceAccountToken: false
  imagePullSecrets: [{name: registry}]
`

const volume = `{name: kube-api-access-XXXXX, projected: {defaultMode: 420, sources: [
  {serviceAccountToken: {path: token, expirationSeconds: 3607}},
  {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}},
  {downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}}]}}`

const ownMount = `{name: own, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}`

const mount = `{name: kube-api-access-XXXXX, readOnly: true, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}`

func newPlugin(t *testing.T) *serviceaccount.Admission {
	t.Helper()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	items := *yamltest.Decode[[]corev1.ServiceAccount](t, accounts)
	for i := range items {
		if err := store.Add(&items[i]); err != nil {
			t.Fatal(err)
		}
	}
	// late is on the server, but not yet in the lister.
	late := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: "ns"}}
	return serviceaccount.NewAdmission(corelisters.NewServiceAccountLister(store), fake.NewClientset(late).CoreV1())
}

func attributes(obj runtime.Object, subresource string) admission.Attributes {
	return admission.NewAttributesRecord(obj, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "p",
		corev1.SchemeGroupVersion.WithResource("pods"), subresource, admission.Create, nil, false, nil)
}

func TestAdmit(t *testing.T) {
	tests := map[string]struct {
		pod, want, wantError string
	}{
		"default account": {
			pod: `{initContainers: [{name: i}], containers: [{name: a}, {name: b}]}`,
			want: `{serviceAccountName: default, serviceAccount: default, volumes: [` + volume + `],
  initContainers: [{name: i, volumeMounts: [` + mount + `]}],
  containers: [{name: a, volumeMounts: [` + mount + `]}, {name: b, volumeMounts: [` + mount + `]}]}`,
		},
		"account turns automount off": {
			pod:  `{serviceAccountName: quiet, containers: [{name: a}]}`,
			want: `{serviceAccountName: quiet, serviceAccount: quiet, containers: [{name: a}]}`,
		},
		"deprecated field": {
			pod:  `{serviceAccount: quiet, containers: [{name: a}]}`,
			want: `{serviceAccountName: quiet, serviceAccount: quiet, containers: [{name: a}]}`,
		},
		"pod turns automount on": {
			pod: `{serviceAccountName: quiet, automountServiceAccountToken: true, containers: [{name: a}]}`,
			want: `{serviceAccountName: quiet, serviceAccount: quiet, automountServiceAccountToken: true,
  volumes: [` + volume + `], containers: [{name: a, volumeMounts: [` + mount + `]}]}`,
		},
		"pod turns automount off": {
			pod: `{automountServiceAccountToken: false, containers: [{name: a}]}`,
			want: `{serviceAccountName: default, serviceAccount: default, automountServiceAccountToken: false,
  containers: [{name: a}]}`,
		},
		"container mounts another volume at the path": {
			pod: `{containers: [{name: a, volumeMounts: [` + ownMount + `]}]}`,
			want: `{serviceAccountName: default, serviceAccount: default,
  containers: [{name: a, volumeMounts: [` + ownMount + `]}]}`,
		},
		"pull secrets of the account": {
			pod: `{serviceAccountName: puller, containers: [{name: a}]}`,
			want: `{serviceAccountName: puller, serviceAccount: puller, imagePullSecrets: [{name: registry}],
  containers: [{name: a}]}`,
		},
		"pull secrets of the pod": {
			pod: `{serviceAccountName: puller, imagePullSecrets: [{name: own}], containers: [{name: a}]}`,
			want: `{serviceAccountName: puller, serviceAccount: puller, imagePullSecrets: [{name: own}],
  containers: [{name: a}]}`,
		},
		"account that the lister does not have": {
			pod: `{serviceAccountName: late, automountServiceAccountToken: false, containers: [{name: a}]}`,
			want: `{serviceAccountName: late, serviceAccount: late, automountServiceAccountToken: false,
  containers: [{name: a}]}`,
		},
		"missing account": {
			pod: `{serviceAccountName: gone, containers: [{name: a}]}`,
			wantError: `pods "p" is forbidden: error looking up service account ns/gone: ` +
				`serviceaccounts "gone" not found`,
		},
	}
	random := regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plugin := newPlugin(t)
			pod := yamltest.Decode[corev1.Pod](t, "spec: "+test.pod)
			err := plugin.Admit(t.Context(), attributes(pod, ""), nil)
			if err == nil {
				// The server calls Admit again after mutating webhooks.
				err = plugin.Admit(t.Context(), attributes(pod, ""), nil)
			}
			if err == nil {
				err = plugin.Validate(t.Context(), attributes(pod, ""), nil)
			}
			if err != nil {
				if err.Error() != test.wantError || !apierrors.IsForbidden(err) {
					t.Errorf("error %v, want %s", err, test.wantError)
				}
				return
			}
			want := *yamltest.Decode[corev1.PodSpec](t, test.want)
			got, err := yaml.Marshal(pod.Spec)
			if err != nil {
				t.Fatal(err)
			}
			expected, err := yaml.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(expected), random.ReplaceAllString(string(got), "kube-api-access-XXXXX")); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMirrorPods(t *testing.T) {
	const forbidden = `pods "p" is forbidden: a mirror pod may not `
	tests := map[string]struct{ spec, want string }{
		"no references":   {spec: `{containers: [{name: a}]}`},
		"service account": {spec: `{serviceAccountName: default}`, want: forbidden + "reference service accounts"},
		"pull secret":     {spec: `{imagePullSecrets: [{name: s}]}`, want: forbidden + "reference secrets"},
		"secret volume":   {spec: `{volumes: [{name: v, secret: {secretName: s}}]}`, want: forbidden + "reference secrets"},
		"secret in the environment": {
			spec: `{containers: [{name: a, envFrom: [{secretRef: {name: s}}]}]}`, want: forbidden + "reference secrets",
		},
		"projected secret": {
			spec: `{volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]}`, want: forbidden + "reference secrets",
		},
		"projected token": {
			spec: `{volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}`,
			want: forbidden + "use ServiceAccountToken volume projections",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := yamltest.Decode[corev1.Pod](t, "{metadata: {annotations: {kubernetes.io/config.mirror: x}}, spec: "+test.spec+"}")
			before := pod.DeepCopy()
			got := ""
			if err := newPlugin(t).Admit(t.Context(), attributes(pod, ""), nil); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestOtherRequestsAreIgnored(t *testing.T) {
	plugin := newPlugin(t)
	pod := &corev1.Pod{}
	if err := plugin.Admit(t.Context(), attributes(pod, "binding"), nil); err != nil || pod.Spec.ServiceAccountName != "" {
		t.Errorf("subresource: %v, account %q", err, pod.Spec.ServiceAccountName)
	}
	if err := plugin.Admit(t.Context(), attributes(&corev1.Binding{}, ""), nil); err != nil {
		t.Errorf("other kind: %v", err)
	}
}
