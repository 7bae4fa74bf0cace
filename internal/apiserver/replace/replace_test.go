package replace_test

import (
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

var (
	configMaps   = core("configmaps")
	secrets      = core("secrets")
	claims       = core("persistentvolumeclaims")
	pods         = core("pods")
	services     = core("services")
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
)

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1, selector: {matchLabels: {a: b}},
	template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`

// A replacement of each kind of object stores a new object with the content of the request, as a create does.
func TestReplace(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "new.example.com")
	c := newCluster(t)
	for name, test := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
		path     []string
		value    any
	}{
		"an immutable config map": {
			configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true, data: {a: b}}`, []string{"data", "a"}, "c",
		},
		"an encrypted secret": {
			secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a}, immutable: true, data: {a: YQ==}}`, []string{"data", "a"}, "Yg==",
		},
		"a selector": {deployments, deployment, []string{"spec", "selector"}, map[string]any{"matchLabels": map[string]any{"a": "b"}, "matchExpressions": []any{
			map[string]any{"key": "a", "operator": "Exists"},
		}}},
		"a custom resource": {boats, `{apiVersion: new.example.com/v1, kind: Boat, metadata: {name: a}, spec: {hull: wood}}`, []string{"spec", "hull"}, "steel"},
	} {
		t.Run(name, func(t *testing.T) {
			old := c.create(t, test.resource, test.text)
			changed := with(t, old, test.value, test.path...)
			if _, err := c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(test.resource, "a")), changed.Object); err == nil {
				t.Fatal("the update is not refused")
			}
			got := c.mustReplace(t, test.resource, changed)
			if got.GetUID() == old.GetUID() || got.GetUID() == "" || got.GetResourceVersion() == old.GetResourceVersion() {
				t.Errorf("UID %s, resourceVersion %s after %s, %s", got.GetUID(), got.GetResourceVersion(), old.GetUID(), old.GetResourceVersion())
			}
			value, _, _ := unstructured.NestedFieldNoCopy(got.Object, test.path...)
			if want, _, _ := unstructured.NestedFieldNoCopy(changed.Object, test.path...); !equal(value, want) {
				t.Errorf("the answer has %v, want %v", value, want)
			}
			stored, err := c.get(t.Context(), test.resource, "a")
			if err != nil || !equal(stored.Object, got.Object) {
				t.Errorf("%v: stored %v, answer %v", err, stored, got)
			}
			list, err := c.Dynamic.Resource(test.resource).Namespace(c.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
			if err != nil || len(list.Items) != 1 || list.Items[0].GetUID() != got.GetUID() {
				t.Errorf("%v: list %v", err, list)
			}
		})
	}
}

// A new object begins like every new object: generation 1, no status, defaults set, fields that the schema does not have dropped.
func TestNewObject(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "begin.example.com")
	c := newCluster(t)
	old := c.create(t, boats, `{apiVersion: begin.example.com/v1, kind: Boat, metadata: {name: a, annotations: {a: b}}, spec: {hull: wood, sails: 1}}`)
	old, err := c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(boats, "a")), with(t, old, int64(3), "spec", "sails").Object)
	if err != nil {
		t.Fatal(err)
	}
	if old, err = c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(boats, "a")+"/status"), with(t, old, true, "status", "afloat").Object); err != nil {
		t.Fatal(err)
	}
	changed := with(t, with(t, with(t, old, "steel", "spec", "hull"), nil, "spec", "sails"), "x", "spec", "unknown")
	got := c.mustReplace(t, boats, changed)
	if _, found := got.Object["status"]; found || got.GetGeneration() != 1 || got.GetAnnotations()["a"] != "b" {
		t.Errorf("new object %v", got)
	}
	if spec := got.Object["spec"]; !equal(spec, map[string]any{"hull": "steel", "sails": int64(2)}) {
		t.Errorf("spec %v", spec)
	}
	refusedText := with(t, got, int64(-1), "spec", "sails")
	_, err = c.replace(t, boats, refusedText)
	refused(t, "an invalid object", err, http.StatusUnprocessableEntity, "spec.sails")

	deployed := c.create(t, deployments, deployment)
	deployed, err = c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(deployments, "a")), with(t, deployed, int64(2), "spec", "replicas").Object)
	if err != nil || deployed.GetGeneration() != 2 {
		t.Fatalf("generation %d, %v", deployed.GetGeneration(), err)
	}
	if got := c.mustReplace(t, deployments, deployed); got.GetGeneration() != 1 {
		t.Errorf("generation %d", got.GetGeneration())
	}
}

// A replacement that is not allowed changes nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const none, claim = "", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: a, selector: {matchLabels: {a: b}},
		persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	for name, test := range map[string]struct {
		resource   schema.GroupVersionResource
		text       string
		path       []string
		value      any
		parameters []string
		code       int32
		want       string
	}{
		"no UID":              {configMaps, none, []string{"metadata", "uid"}, nil, nil, 400, "metadata.uid is required"},
		"no resourceVersion":  {configMaps, none, []string{"metadata", "resourceVersion"}, nil, nil, 400, "metadata.resourceVersion is required"},
		"another UID":         {configMaps, none, []string{"metadata", "uid"}, "other", nil, 409, "not other"},
		"an earlier version":  {configMaps, none, []string{"metadata", "resourceVersion"}, "1", nil, 409, "it was changed after it was read"},
		"a finalizer":         {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/a]}}`, nil, nil, nil, 409, "the finalizer example.com/a"},
		"kept":                {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {holdfast.dev/keep: always}}}`, nil, nil, nil, 409, "holdfast.dev/keep"},
		"a claim":             {claims, claim, nil, nil, nil, 409, "allowDataLoss=PersistentVolumeClaim/a"},
		"another is allowed":  {claims, claim, nil, nil, []string{"allowDataLoss", "PersistentVolumeClaim/b"}, 409, "allowDataLoss=PersistentVolumeClaim/a"},
		"claims of a set":     {statefulSets, set, nil, nil, nil, 409, "allowDataLoss=StatefulSet/a"},
		"an invalid new name": {configMaps, none, []string{"metadata", "namespace"}, "other", nil, 400, "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			text := test.text
			if text == none {
				text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}`
			}
			old := c.create(t, test.resource, text)
			changed := old
			if test.path != nil {
				changed = with(t, old, test.value, test.path...)
			}
			for _, parameters := range [][]string{test.parameters, append([]string{"dryRun", "All"}, test.parameters...)} {
				_, err := c.replace(t, test.resource, changed, parameters...)
				refused(t, strings.Join(parameters, " "), err, test.code, test.want)
			}
			stored, err := c.get(t.Context(), test.resource, "a")
			if err != nil || stored.GetUID() != old.GetUID() {
				t.Errorf("%v: stored %v", err, stored)
			}
			open := []byte(`{"metadata":{"finalizers":null,"annotations":null}}`)
			c.CoreV1().RESTClient().Patch("application/merge-patch+json").AbsPath(c.path(test.resource, "a")).Body(open).Do(t.Context())
			if err := c.CoreV1().RESTClient().Delete().AbsPath(c.path(test.resource, "a")).Do(t.Context()).Error(); err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, "it is deleted", func() bool {
				_, err := c.get(t.Context(), test.resource, "a")
				return apierrors.IsNotFound(err)
			})
		})
	}
	missing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "missing", "uid": "a", "resourceVersion": "1",
	}}}
	_, err := c.replace(t, configMaps, missing)
	refused(t, "no object", err, 404, "not found")
	namespace, err := c.get(t.Context(), core("namespaces"), c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.replace(t, core("namespaces"), namespace)
	refused(t, "a namespace", err, 400, "namespaces are never replaced")
	_, err = c.send(t, c.CoreV1().RESTClient().Post().AbsPath(c.path(configMaps, "")).Param("holdfast", "replace"), missing.Object)
	refused(t, "a POST", err, 400, "only a PUT of an object replaces it")
}

// The data of a claim, and of the claims of a StatefulSet, is lost only with leave. No pod uses the claim, so its finalizer is no obstacle.
func TestAllowedLoss(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, claims, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	if len(old.GetFinalizers()) == 0 {
		t.Fatal("the claim has no finalizer")
	}
	smaller := with(t, old, "1Gi", "spec", "resources", "requests", "storage")
	if got := c.mustReplace(t, claims, smaller, "allowDataLoss", "PersistentVolumeClaim/a"); len(got.GetFinalizers()) != 1 {
		t.Errorf("finalizers %v", got.GetFinalizers())
	}
	c.create(t, pods, `{apiVersion: v1, kind: Pod, metadata: {name: user}, spec: {nodeName: n1, containers: [{name: c, image: i}],
		volumes: [{name: v, persistentVolumeClaim: {claimName: a}}]}}`)
	used, err := c.get(t.Context(), claims, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.replace(t, claims, used, "allowDataLoss", "PersistentVolumeClaim/a")
	refused(t, "a claim in use", err, 409, "used by the pod user")
	pod, err := c.get(t.Context(), pods, "user")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.replace(t, pods, pod)
	refused(t, "a pod on a node", err, 409, "runs on the node n1")
}

// An object that is being deleted is not replaced.
func TestBeingDeleted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/a]}}`)
	if err := c.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleting, err := c.get(t.Context(), configMaps, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.replace(t, configMaps, deleting)
	refused(t, "being deleted", err, 409, "it is being deleted")
	if _, err := c.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "a", "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A dry run answers with the new object and writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "dry.example.com")
	c := newCluster(t)
	for _, old := range []struct {
		resource schema.GroupVersionResource
		text     string
	}{
		{configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`},
		{boats, `{apiVersion: dry.example.com/v1, kind: Boat, metadata: {name: a}, spec: {hull: wood}}`},
	} {
		created := c.create(t, old.resource, old.text)
		got := c.mustReplace(t, old.resource, created, "dryRun", "All")
		if got.GetUID() == created.GetUID() {
			t.Errorf("%s: the answer has the UID of the old object", old.resource.Resource)
		}
		stored, err := c.get(t.Context(), old.resource, "a")
		if err != nil || !equal(stored.Object, created.Object) {
			t.Errorf("%s: %v, stored %v, before %v", old.resource.Resource, err, stored, created)
		}
	}
}

// A user needs the verbs delete and create besides update.
func TestRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	for _, test := range []struct {
		user  string
		verbs []string
		lacks string
	}{
		{"updater", []string{"get", "update"}, "delete"},
		{"deleter", []string{"get", "update", "delete"}, "create"},
		{"creator", []string{"get", "update", "create"}, "delete"},
		{"all", []string{"get", "update", "create", "delete"}, ""},
	} {
		user := test.user + "-" + c.Namespace
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: test.user}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: test.verbs},
		}}
		if _, err := c.RbacV1().Roles(c.Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: test.user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: test.user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := c.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		servertest.AwaitRight(t, c, user, authorizationv1.ResourceAttributes{Namespace: c.Namespace, Verb: "update", Resource: "configmaps"})
		_, err := c.as(t, user).replace(t, configMaps, old)
		if test.lacks == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		refused(t, test.user, err, 403, "the user lacks "+test.lacks)
	}
}

// The quota of a namespace may be used up: the new object may use what the old one uses, and no more.
func TestQuota(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(t, core("resourcequotas"), `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {secrets: 1, requests.storage: 2Gi}}}`)
	used := func(want string) {
		t.Helper()
		waittest.Until(t, "used: "+want, func() bool {
			quota, err := c.CoreV1().ResourceQuotas(c.Namespace).Get(t.Context(), "q", metav1.GetOptions{})
			if err != nil || len(quota.Status.Hard) != 2 {
				return false
			}
			secrets, storage := quota.Status.Used[corev1.ResourceSecrets], quota.Status.Used[corev1.ResourceRequestsStorage]
			return secrets.String()+" "+storage.String() == want
		})
	}
	used("0 0")
	secret := c.create(t, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`)
	claim := c.create(t, claims, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`)
	used("1 2Gi")
	secret = c.mustReplace(t, secrets, secret)
	used("1 2Gi")
	c.mustReplace(t, secrets, secret)
	_, err := c.replace(t, claims, with(t, claim, "3Gi", "spec", "resources", "requests", "storage"), "allowDataLoss", "PersistentVolumeClaim/a")
	refused(t, "more storage", err, 403, "exceeded quota: q")
	c.mustReplace(t, claims, with(t, claim, "1Gi", "spec", "resources", "requests", "storage"), "allowDataLoss", "PersistentVolumeClaim/a")
	used("1 1Gi")
}

// A Service may keep its address, or get another one.
func TestService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, services, `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, selector: {a: b}, ports: [{port: 80}]}}`)
	same := c.mustReplace(t, services, old)
	address := func(service *unstructured.Unstructured) string {
		text, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
		return text
	}
	if address(same) != address(old) {
		t.Errorf("the address %s became %s", address(old), address(same))
	}
	headless := with(t, with(t, with(t, same, "None", "spec", "clusterIP"), nil, "spec", "clusterIPs"), "ClusterIP", "spec", "type")
	headless = with(t, headless, nil, "spec", "externalTrafficPolicy")
	headless = with(t, headless, []any{map[string]any{"port": int64(80)}}, "spec", "ports")
	if got := c.mustReplace(t, services, headless); address(got) != "None" {
		t.Errorf("the address is %s", address(got))
	}
	// The address is free again.
	other := `{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {clusterIP: ` + address(old) + `, selector: {a: b}, ports: [{port: 80}]}}`
	c.create(t, services, other)
}

// The dependents of the old object are collected: their owner is gone.
func TestDependents(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "owner.example.com")
	c := newCluster(t)
	for name, owner := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
	}{
		"cargo":  {boats, `{apiVersion: owner.example.com/v1, kind: Boat, metadata: {name: a}, spec: {hull: wood}}`},
		"detail": {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`},
	} {
		old := c.create(t, owner.resource, owner.text)
		c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, ownerReferences: [
			{apiVersion: `+old.GetAPIVersion()+`, kind: `+old.GetKind()+`, name: a, uid: `+string(old.GetUID())+`}]}}`)
		c.mustReplace(t, owner.resource, old)
		waittest.Until(t, name+" is collected", func() bool {
			_, err := c.get(t.Context(), configMaps, name)
			return apierrors.IsNotFound(err)
		})
		if _, err := c.get(t.Context(), owner.resource, "a"); err != nil {
			t.Error(err)
		}
	}
}
