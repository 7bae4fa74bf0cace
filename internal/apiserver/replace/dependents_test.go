package replace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
)

var (
	orphan = []string{"propagationPolicy", "Orphan"}
	adopt  = []string{"propagationPolicy", "Orphan", "adopt", "true"}
)

// dependent is an object with an owner reference.
type dependent struct {
	cluster
	resource schema.GroupVersionResource
	created  *unstructured.Unstructured
}

// owned creates an object of a kind with owner references.
func (c cluster) owned(t testing.TB, resource schema.GroupVersionResource, kind, name string, owners ...metav1.OwnerReference) dependent {
	t.Helper()
	object := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: resource.GroupVersion().String(), Kind: kind}, ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
	}
	created, err := c.send(t, c.CoreV1().RESTClient().Post().AbsPath(c.path(resource, "")), object)
	if err != nil {
		t.Fatal(err)
	}
	return dependent{c, resource, created}
}

// owners returns the owner references of the object, which must be the one that was created.
func (d dependent) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	stored, err := d.get(ctx, d.resource, d.created.GetName())
	if err == nil && (stored.GetUID() != d.created.GetUID() || stored.GetDeletionTimestamp() != nil) {
		err = fmt.Errorf("%s was deleted", d.created.GetName())
	}
	if err != nil {
		return nil, err
	}
	return stored.GetOwnerReferences(), nil
}

// await waits until the object has owner references.
func (d dependent) await(t testing.TB, want ...metav1.OwnerReference) {
	t.Helper()
	waittest.Until(t, d.resource.Resource+" "+d.created.GetName()+" has its owners", func() error {
		got, err := d.owners(t.Context())
		switch {
		case apierrors.IsNotFound(err):
			t.Fatalf("%s %s was deleted", d.resource.Resource, d.created.GetName())
		case err != nil:
			return err
		case len(got) != len(want) || len(got) > 0 && !equal(got, want):
			return fmt.Errorf("owners %+v, want %+v", got, want)
		}
		return nil
	})
}

// referTo returns a reference to an object that is a controller and blocks its deletion in the foreground.
func referTo(object *unstructured.Unstructured) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// collectedAfter waits until the collector has deleted a dependent of an object of the namespace, after which it has handled what came before.
func (c cluster) collectedAfter(t testing.TB) {
	t.Helper()
	gone := c.owned(t, configMaps, "ConfigMap", "probe", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: "none"})
	waittest.Until(t, "the collector has deleted another object", func() bool {
		_, err := c.get(t.Context(), configMaps, gone.created.GetName())
		return apierrors.IsNotFound(err)
	})
}

// The dependents of a replaced object of every kind of storage stay: their references get the new UID, or are removed.
func TestKeptDependents(t *testing.T) {
	t.Parallel()
	boats := defineBoats(t, "keep.example.com")
	for name, owner := range map[string]struct {
		resource schema.GroupVersionResource
		text     string
	}{
		"a built-in kind":   {deployments, deployment},
		"encrypted":         {secrets, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`},
		"a custom resource": {boats, `{apiVersion: keep.example.com/v1, kind: Boat, metadata: {name: a}, spec: {hull: wood}}`},
		"with history":      {configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {holdfast.dev/history: fields}}}`},
	} {
		for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				old := c.create(t, owner.resource, owner.text)
				other := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}`)
				ref, second := referTo(old), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: other.GetUID()}
				all := []dependent{
					c.owned(t, configMaps, "ConfigMap", "one", ref), c.owned(t, secrets, "Secret", "two", ref),
					c.owned(t, boats, "Boat", "three", ref), c.owned(t, configMaps, "ConfigMap", "four", second, ref),
				}
				if _, err := c.replace(t, owner.resource, old, append([]string{"dryRun", "All"}, parameters...)...); err != nil {
					t.Fatal(err)
				}
				for i, d := range all {
					if got, err := d.owners(t.Context()); err != nil || !equal(got, d.created.GetOwnerReferences()) {
						t.Fatalf("dependent %d after a dry run: %v, %v", i, got, err)
					}
				}
				created := c.mustReplace(t, owner.resource, old, parameters...)
				for _, d := range all {
					var want []metav1.OwnerReference
					for _, was := range d.created.GetOwnerReferences() {
						switch {
						case was.UID != old.GetUID():
							want = append(want, was)
						case mode == "adopt":
							was.UID = created.GetUID()
							want = append(want, was)
						}
					}
					d.await(t, want...)
				}
				if mode == "adopt" {
					// The new object is a real owner: its dependents go with it.
					path := c.path(owner.resource, created.GetName())
					if err := c.CoreV1().RESTClient().Delete().AbsPath(path).Do(t.Context()).Error(); err != nil {
						t.Fatal(err)
					}
					for _, d := range all[:3] {
						waittest.Until(t, "the dependents of the new object are deleted", func() bool {
							_, err := d.owners(t.Context())
							return apierrors.IsNotFound(err)
						})
					}
				}
			})
		}
	}
}

// An owner without a namespace has dependents in many.
func TestKeptInNamespaces(t *testing.T) {
	t.Parallel()
	first, second := newCluster(t), newCluster(t)
	role, err := first.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "owner-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + role.Name
	for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
		old, err := do(t.Context(), first.CoreV1().RESTClient().Get().AbsPath(path))
		if err != nil {
			t.Fatal(err)
		}
		all := []dependent{
			first.owned(t, configMaps, "ConfigMap", mode, referTo(old)), second.owned(t, configMaps, "ConfigMap", mode, referTo(old)),
		}
		put := first.CoreV1().RESTClient().Put().AbsPath(path).Param("holdfast", "replace")
		for i := 0; i < len(parameters); i += 2 {
			put = put.Param(parameters[i], parameters[i+1])
		}
		created, err := first.send(t, put, old.Object)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			if mode == "adopt" {
				d.await(t, referTo(created))
			} else {
				d.await(t)
			}
		}
	}
}

// A controller sets the reference to the old object again and again, before, while and after the object is replaced. No dependent is deleted,
// and when the controller stops, none refers to the old object.
func TestHostileController(t *testing.T) {
	t.Parallel()
	for mode, parameters := range map[string][]string{"adopt": adopt, "orphan": orphan} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true}`)
			var all []dependent
			for i := range 5 {
				all = append(all, c.owned(t, configMaps, "ConfigMap", fmt.Sprint("child-", i), referTo(old)))
			}
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{referTo(old)}}})
			if err != nil {
				t.Fatal(err)
			}
			replaced, set := make(chan struct{}), make(chan error, 1)
			var running sync.WaitGroup
			running.Go(func() {
				// Before the replacement, and 20 times after it.
				for after := 0; after < 20; {
					select {
					case <-replaced:
						after++
					default:
					}
					for _, d := range all {
						if _, err := c.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), d.created.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
							set <- err
							return
						}
					}
				}
				set <- nil
			})
			created := c.mustReplace(t, configMaps, old, parameters...)
			late := c.owned(t, configMaps, "ConfigMap", "late", referTo(old))
			close(replaced)
			if err := waittest.Receive(t, "the controller has stopped", set); err != nil {
				t.Fatal(err)
			}
			running.Wait()
			for _, d := range append(all, late) {
				if mode == "adopt" {
					d.await(t, referTo(created))
				} else {
					d.await(t)
				}
			}
		})
	}
}

// Replacements come faster than the collector: each reference goes on to the newest object. If the last one keeps no dependents, they go.
func TestChain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	object := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	d := c.owned(t, configMaps, "ConfigMap", "child", referTo(object))
	for range 10 {
		object = c.mustReplace(t, configMaps, object, adopt...)
	}
	d.await(t, referTo(object))
	c.mustReplace(t, configMaps, object)
	waittest.Until(t, "the dependent is deleted", func() bool {
		_, err := d.owners(t.Context())
		return apierrors.IsNotFound(err)
	})
}

// References that never named the old object are collected as before.
func TestOthersAreCollected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	old := c.create(t, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	kept := c.owned(t, configMaps, "ConfigMap", "kept", referTo(old))
	created := c.mustReplace(t, configMaps, old, adopt...)
	kept.await(t, referTo(created))
	wrong := referTo(old)
	wrong.Name = "another"
	lost := c.owned(t, configMaps, "ConfigMap", "lost", wrong)
	waittest.Until(t, "an object that names another owner is deleted", func() bool {
		_, err := lost.owners(t.Context())
		return apierrors.IsNotFound(err)
	})
}

// The claims of a StatefulSet that deletes its claims stay with its other dependents, so that no data is lost.
func TestKeptClaims(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: a, selector: {matchLabels: {a: b}},
		persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	old := c.create(t, statefulSets, set)
	claim := c.create(t, claims, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-a-0}, spec: {accessModes: [ReadWriteOnce],
		resources: {requests: {storage: 1Gi}}}}`)
	claim.SetOwnerReferences([]metav1.OwnerReference{referTo(old)})
	claim, err := c.send(t, c.CoreV1().RESTClient().Put().AbsPath(c.path(claims, "data-a-0")), claim.Object)
	if err != nil {
		t.Fatal(err)
	}
	created := c.mustReplace(t, statefulSets, old, adopt...)
	dependent{c, claims, claim}.await(t, referTo(created))
}
