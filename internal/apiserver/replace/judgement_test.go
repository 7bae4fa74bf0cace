package replace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// The readers of the server that decide about requests see a replacement as a change: they have the old object or the new one at every
// moment. TestInformersEqualPlain of package apiserver replaces objects too, for informers that read in the process.
func TestReadersOfTheServer(t *testing.T) {
	t.Parallel()
	started := servertest.Start(t, apiserver.Config{})
	boats := schema.GroupVersionResource{Group: "readers.example.com", Version: "v1", Resource: "boats"}
	c := cluster{started.Cluster(t)}
	c.defineBoats(t, boats)
	server, err := connection.Open(started.Config(t), connection.Options{ReplacementsAsChanges: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	inner := cluster{servertest.Cluster{Interface: server.Typed, Dynamic: server.Dynamic, Config: server.Config, Namespace: "default"}}
	readers := map[string]struct {
		resource schema.GroupVersionResource
		informer cache.SharedIndexInformer
	}{
		"through the API":                     {configMaps, inner.dynamicInformer(configMaps)},
		"of Secrets":                          {secrets, inner.dynamicInformer(secrets)},
		"of custom resources":                 {boats, inner.dynamicInformer(boats)},
		"of clients: deletions and additions": {configMaps, c.dynamicInformer(configMaps)},
	}
	last := map[schema.GroupVersionResource]*unstructured.Unstructured{
		configMaps: c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`),
		secrets:    c.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`),
		boats:      c.create(t, boats, `{apiVersion: readers.example.com/v1, kind: Boat, metadata: {name: a}}`),
	}
	const times = 10
	counts := map[string]*struct{ changed, deleted atomic.Int32 }{}
	for name, reader := range readers {
		count := &struct{ changed, deleted atomic.Int32 }{}
		counts[name] = count
		_, err := reader.informer.AddEventHandler(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool { return isNamed(obj, "a") },
			Handler: cache.ResourceEventHandlerFuncs{
				UpdateFunc: func(before, after any) {
					if before.(metav1.Object).GetUID() != after.(metav1.Object).GetUID() {
						count.changed.Add(1)
					}
				},
				DeleteFunc: func(any) { count.deleted.Add(1) },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		go reader.informer.RunWithContext(t.Context())
		waittest.Until(t, name+" has listed", reader.informer.HasSynced)
	}
	for range times {
		for resource, object := range last {
			last[resource] = c.mustReplace(t, resource, object)
		}
	}
	for name, reader := range readers {
		waittest.Until(t, name+": the last object", func() bool {
			found, exists, err := reader.informer.GetStore().GetByKey("default/a")
			return err == nil && exists && found.(metav1.Object).GetUID() == last[reader.resource].GetUID()
		})
		count := counts[name]
		if strings.HasPrefix(name, "of clients") {
			// The first replacement of a kind ends its watches. An informer that lists then sees one object instead of the other.
			waittest.Until(t, name, func() bool {
				last[configMaps] = c.mustReplace(t, configMaps, last[configMaps])
				return count.deleted.Load() > 0
			})
			continue
		}
		waittest.Until(t, name+": all changes", func() bool { return count.changed.Load() >= times })
		if n := count.deleted.Load(); n != 0 {
			t.Errorf("%s: %d deletions", name, n)
		}
	}
}

func isNamed(obj any, name string) bool {
	key, err := cache.DeletionHandlingObjectToName(obj)
	return err == nil && key.Name == name
}

// judge is an object that takes part in a decision about requests.
type judge struct {
	resource schema.GroupVersionResource
	text     string
	// before has the objects that it needs, by their resource.
	before []judge
	// ask sends a request that the object decides about, and returns an error if the answer is not the one with the object.
	ask func(ctx context.Context, c cluster) error
}

func admissionResource(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

func rbacResource(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

// dryRun creates an object without storing it.
func (c cluster) dryRun(ctx context.Context, resource schema.GroupVersionResource, object map[string]any) (*unstructured.Unstructured, error) {
	return c.Dynamic.Resource(resource).Namespace(c.Namespace).Create(ctx, &unstructured.Unstructured{Object: object},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// isRefused asks for the creation of an object, which must be refused.
func isRefused(resource schema.GroupVersionResource, object map[string]any, reason string) func(context.Context, cluster) error {
	return func(ctx context.Context, c cluster) error {
		_, err := c.dryRun(ctx, resource, object)
		if err == nil {
			return errors.New("the object was created")
		}
		if !strings.Contains(err.Error(), reason) {
			return err
		}
		return nil
	}
}

// has asks for the creation of an object, which must have a value afterwards.
func has(resource schema.GroupVersionResource, object map[string]any, want any, path ...string) func(context.Context, cluster) error {
	return func(ctx context.Context, c cluster) error {
		got, err := c.dryRun(ctx, resource, object)
		if err != nil {
			return err
		}
		if value, _, _ := unstructured.NestedFieldNoCopy(got.Object, path...); fmt.Sprint(value) != fmt.Sprint(want) {
			return fmt.Errorf("%s is %v, want %v", strings.Join(path, "."), value, want)
		}
		return nil
	}
}

// judges are the objects of TestJudgement in a namespace. user is a user without rights.
func judges(t *testing.T, namespace, user string) map[string]judge {
	const marked = `{apiVersion: v1, kind: ConfigMap, metadata: {name: asked, labels: {asked: "yes"}}}`
	asked := yamltest.Map(t, marked)
	pod := func(spec string) map[string]any {
		return yamltest.Map(t, `{apiVersion: v1, kind: Pod, metadata: {name: asked}, spec: {containers: [{name: c, image: i}]`+spec+`}}`)
	}
	here := `namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + namespace + `}}`
	rules := `resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]`
	policy := `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: ` + namespace + `}, spec: {matchConstraints: {` +
		here + `, objectSelector: {matchLabels: {asked: "yes"}}, ` + rules + `}, validations: [{expression: "false", message: not here}]}}`
	binding := `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: ` + namespace + `},
		spec: {policyName: ` + namespace + `, validationActions: [Deny]}}`
	mutating := `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: ` + namespace + `}, spec: {
		reinvocationPolicy: Never, matchConstraints: {` + here + `, ` + rules + `}, mutations: [{patchType: ApplyConfiguration, applyConfiguration:
		{expression: 'Object{data: {"mutated": "yes"}}'}}]}}`
	mutatingBinding := `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: ` + namespace + `},
		spec: {policyName: ` + namespace + `}}`
	withParameters := strings.Replace(strings.Replace(policy, `expression: "false"`, `expression: params.data.open == "true"`, 1),
		"spec: {", "spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, ", 1)
	boundParameters := strings.Replace(binding, "spec: {", "spec: {paramRef: {name: parameters, namespace: "+namespace+", parameterNotFoundAction: Allow}, ", 1)
	roleRef := `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: ` + namespace + `}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]`
	rightRules := `rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]`
	named := func(version, kind string) string {
		return `apiVersion: ` + version + `, kind: ` + kind + `, metadata: {name: ` + namespace + `}`
	}
	const rbacVersion = "rbac.authorization.k8s.io/v1"
	role := judge{resource: rbacResource("roles"), text: `{` + named(rbacVersion, "Role") + `, ` + rightRules + `}`}
	roleBinding := judge{resource: rbacResource("rolebindings"), text: `{` + named(rbacVersion, "RoleBinding") + `, ` + fmt.Sprintf(roleRef, "Role") + `}`}
	clusterRole := judge{resource: rbacResource("clusterroles"), text: `{` + named(rbacVersion, "ClusterRole") + `, ` + rightRules + `}`}
	clusterBinding := judge{
		resource: rbacResource("clusterrolebindings"), text: `{` + named(rbacVersion, "ClusterRoleBinding") + `, ` + fmt.Sprintf(roleRef, "ClusterRole") + `}`,
	}
	asUser := sync.OnceValue(func() servertest.Cluster { return servertest.NewCluster(shared.As(t, user)) })
	lists := func(ctx context.Context, c cluster) error {
		_, err := asUser().CoreV1().ConfigMaps(c.Namespace).List(ctx, metav1.ListOptions{})
		return err
	}
	after := func(j judge, before ...judge) judge { j.before, j.ask = before, lists; return j }
	return map[string]judge{
		"a validating policy": {
			resource: admissionResource("validatingadmissionpolicies"), text: policy,
			before: []judge{{resource: admissionResource("validatingadmissionpolicybindings"), text: binding}}, ask: isRefused(configMaps, asked, "not here"),
		},
		"its binding": {
			resource: admissionResource("validatingadmissionpolicybindings"), text: binding,
			before: []judge{{resource: admissionResource("validatingadmissionpolicies"), text: policy}}, ask: isRefused(configMaps, asked, "not here"),
		},
		"its parameters": {
			resource: configMaps, text: `{apiVersion: v1, kind: ConfigMap, metadata: {name: parameters}, data: {open: "false"}}`,
			before: []judge{
				{resource: admissionResource("validatingadmissionpolicies"), text: withParameters},
				{resource: admissionResource("validatingadmissionpolicybindings"), text: boundParameters},
			},
			ask: isRefused(configMaps, asked, "not here"),
		},
		"an ImmutabilityPolicy": {
			resource: schema.GroupVersionResource{Group: "guard.holdfast.dev", Version: "v1beta1", Resource: "immutabilitypolicies"},
			text: `{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: ` + namespace + `},
				spec: {resources: [configmaps], rules: [addition-only data], ` + here + `}}`,
			before: []judge{{resource: configMaps, text: `{apiVersion: v1, kind: ConfigMap, metadata: {name: guarded}, data: {fixed: a}}`}},
			ask: func(ctx context.Context, c cluster) error {
				_, err := c.CoreV1().ConfigMaps(c.Namespace).Patch(ctx, "guarded", types.MergePatchType, []byte(`{"data":{"fixed":null}}`),
					metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
				if !apierrors.IsInvalid(err) {
					return fmt.Errorf("the answer is not that the field is immutable: %w", err)
				}
				return nil
			},
		},
		"a mutating policy": {
			resource: admissionResource("mutatingadmissionpolicies"), text: mutating,
			before: []judge{{resource: admissionResource("mutatingadmissionpolicybindings"), text: mutatingBinding}},
			ask:    has(configMaps, asked, "yes", "data", "mutated"),
		},
		"a validating webhook": {
			resource: admissionResource("validatingwebhookconfigurations"),
			text:     webhooks(t, "ValidatingWebhookConfiguration", namespace, "CREATE", deny),
			ask:      isRefused(configMaps, asked, "not here"),
		},
		"a mutating webhook": {
			resource: admissionResource("mutatingwebhookconfigurations"),
			text:     webhooks(t, "MutatingWebhookConfiguration", namespace, "CREATE", mark),
			ask:      has(configMaps, asked, "yes", "data", "mutated"),
		},
		"a quota": {
			resource: core("resourcequotas"), text: `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {secrets: 0}}}`,
			ask: isRefused(secrets, yamltest.Map(t, `{apiVersion: v1, kind: Secret, metadata: {name: asked}}`), "q"),
		},
		"a limit range": {
			resource: core("limitranges"),
			text:     `{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, max: {memory: 1Gi}}]}}`,
			ask: isRefused(pods, yamltest.Map(t, `{apiVersion: v1, kind: Pod, metadata: {name: asked}, spec: {containers: [{name: c, image: i, resources:
				{limits: {memory: 2Gi}}}]}}`), "maximum memory usage"),
		},
		"a priority class": {
			resource: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
			text:     `{` + named("scheduling.k8s.io/v1", "PriorityClass") + `, value: 7}`,
			ask:      has(pods, pod(`, priorityClassName: `+namespace), 7, "spec", "priority"),
		},
		"a runtime class": {
			resource: schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"},
			text:     `{` + named("node.k8s.io/v1", "RuntimeClass") + `, handler: h, overhead: {podFixed: {cpu: 7m}}}`,
			ask:      has(pods, pod(`, runtimeClassName: `+namespace), "7m", "spec", "overhead", "cpu"),
		},
		"the default storage class": {
			resource: schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"},
			text: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: default-` + namespace + `, annotations:
				{storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: example.com/disk}`,
			ask: has(claims, yamltest.Map(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: asked}, spec: {accessModes: [ReadWriteOnce],
				resources: {requests: {storage: 1Gi}}}}`), "default-"+namespace, "spec", "storageClassName"),
		},
		"a service account": {
			resource: core("serviceaccounts"), text: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`,
			ask: has(pods, pod(`, serviceAccountName: robot`), "robot", "spec", "serviceAccountName"),
		},
		"a role":                 after(role, roleBinding),
		"a role binding":         after(roleBinding, role),
		"a cluster role":         after(clusterRole, clusterBinding),
		"a cluster role binding": after(clusterBinding, clusterRole),
	}
}

// Objects that decide about requests are replaced again and again while requests are sent. Each decision is the one with the object: a
// rule is in force at every moment, and a right is not lost.
func TestJudgement(t *testing.T) {
	t.Parallel()
	for name := range judges(t, "none", "none") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			j := judges(t, c.Namespace, "user-of-"+c.Namespace)[name]
			servertest.AwaitAccount(t, c, c.Namespace)
			for _, other := range j.before {
				c.create(t, other.resource, other.text)
			}
			object := c.create(t, j.resource, j.text)
			t.Cleanup(func() {
				ctx := context.WithoutCancel(t.Context())
				if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(j.resource, object.GetName())).Do(ctx).Error(); err != nil {
					t.Error(err)
				}
			})
			waittest.Until(t, "the object is in force", func() error { return j.ask(t.Context(), c) })
			c.hammer(t, j, object)
		})
	}
}

// hammer replaces an object and sends requests meanwhile.
func (c cluster) hammer(t *testing.T, j judge, object *unstructured.Unstructured) {
	t.Helper()
	const rounds = 30
	ctx, cancel := context.WithCancel(t.Context())
	var asked, wrong atomic.Int64
	var first atomic.Pointer[error]
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := j.ask(t.Context(), c); err != nil {
					wrong.Add(1)
					first.CompareAndSwap(nil, &err)
				}
				asked.Add(1)
			}
		})
	}
	for i := range rounds {
		next, err := c.replace(t, j.resource, object)
		if apierrors.IsConflict(err) {
			// A controller has written it.
			if object, err = c.get(t.Context(), j.resource, object.GetName()); err == nil {
				continue
			}
		}
		if err != nil {
			t.Errorf("round %d: %v", i, err)
			break
		}
		object = next
	}
	cancel()
	running.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d answers were wrong, the first: %v", n, asked.Load(), *first.Load())
	}
	t.Logf("%d answers", asked.Load())
}
