package garbage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
	"holdfast.dev/holdfast/internal/pasttest"
)

// family are objects that own each other in one namespace, and the writes of users about them. An object has the name "cm/root": its kind
// and its name.
type family struct {
	cluster
	namespace string
	// uids are the UIDs of the objects, also of deleted ones, as they were created last.
	uids map[string]types.UID
}

var familyKinds = map[string]schema.GroupVersionKind{
	"cm":     {Version: "v1", Kind: "ConfigMap"},
	"secret": {Version: "v1", Kind: "Secret"},
	"lease":  {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
}

func newFamily(t *testing.T, c cluster, namespace string) *family {
	t.Helper()
	newTree(t, c, namespace)
	return &family{cluster: c, namespace: namespace, uids: map[string]types.UID{"cm/never": "never"}}
}

// object returns an object with its owners, from "secret/child<cm/root<cm/other".
func (f *family) object(text string) (string, *unstructured.Unstructured) {
	parts := strings.Split(text, "<")
	kind, name, _ := strings.Cut(parts[0], "/")
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(familyKinds[kind])
	obj.SetNamespace(f.namespace)
	obj.SetName(name)
	obj.SetOwnerReferences(f.owners(parts[1:]))
	return parts[0], obj
}

// owners returns references. With "!" before the name a reference has blockOwnerDeletion.
func (f *family) owners(names []string) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{}
	for _, owner := range names {
		owner, blocks := strings.CutPrefix(owner, "!")
		kind, name, _ := strings.Cut(owner, "/")
		apiVersion, kindName := familyKinds[kind].ToAPIVersionAndKind()
		refs = append(refs, metav1.OwnerReference{
			APIVersion: apiVersion, Kind: kindName, Name: name, UID: f.uids[owner], BlockOwnerDeletion: &blocks,
		})
	}
	return refs
}

func (f *family) resource(object string) (schema.GroupVersionResource, string) {
	kind, name, _ := strings.Cut(object, "/")
	gvk := familyKinds[kind]
	return gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), name
}

// step returns the step of a line: "create OBJECT<OWNER", "own OBJECT<OWNER", "await gone OBJECT", or "delete POLICY OBJECT".
func (f *family) step(line string) pasttest.Step {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "create":
		return f.create(rest)
	case "own":
		return pasttest.Step{Name: line, Write: func(ctx context.Context) error { return f.own(ctx, rest) }}
	case "await":
		gvr, name := f.resource(strings.TrimPrefix(rest, "gone "))
		return pasttest.Step{Name: line, Wait: func(ctx context.Context) error {
			_, err := f.Dynamic.Resource(gvr).Namespace(f.namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return fmt.Errorf("%s exists", name)
			}
			return ignoreNotFound(err)
		}}
	}
	policy, object, _ := strings.Cut(rest, " ")
	propagation := metav1.DeletionPropagation(policy)
	gvr, name := f.resource(object)
	return pasttest.Step{Name: line, Write: func(ctx context.Context) error {
		return ignoreNotFound(f.Dynamic.Resource(gvr).Namespace(f.namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation}))
	}}
}

// create returns a step that creates an object. If one of this name is still being deleted, the step waits for its end.
func (f *family) create(text string) pasttest.Step {
	created := false
	try := func(ctx context.Context) error {
		if created {
			return nil
		}
		name, obj := f.object(text)
		gvr, _ := f.resource(name)
		stored, err := f.Dynamic.Resource(gvr).Namespace(f.namespace).Create(ctx, obj, metav1.CreateOptions{})
		if err == nil {
			f.uids[name], created = stored.GetUID(), true
		}
		return err
	}
	return pasttest.Step{Name: "create " + text, Wait: try, Write: func(ctx context.Context) error {
		if err := try(ctx); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}}
}

// own replaces the owners of an object.
func (f *family) own(ctx context.Context, text string) error {
	parts := strings.Split(text, "<")
	gvr, name := f.resource(parts[0])
	return f.patchOwners(ctx, gvr, name, f.owners(parts[1:]))
}

func (f *family) patchOwners(ctx context.Context, gvr schema.GroupVersionResource, name string, refs []metav1.OwnerReference) error {
	obj := map[string]any{"metadata": map[string]any{"ownerReferences": refs}}
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	_, err = f.Dynamic.Resource(gvr).Namespace(f.namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// script returns the script of lines. Empty lines and those that begin with "#" are no steps.
func (f *family) script(lines, want string) pasttest.Script {
	script := pasttest.Script{Want: strings.Join(strings.Fields(want), "\n"), State: f.state}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			script.Steps = append(script.Steps, f.step(line))
		}
	}
	// The watch of each kind shows its last object after all others. Its owner does not exist, so the collector deletes it.
	for _, kind := range []string{"cm", "lease", "secret"} {
		last := kind + "/last"
		script.Last = append(script.Last, f.step("create "+last+"<cm/never"), f.step("await gone "+last))
	}
	return script
}

// state returns the objects with their owners, one in a line. One that is being deleted has a minus before its name, and an owner that is
// not the object of this name that was created last has a question mark.
func (f *family) state(ctx context.Context) (string, error) {
	var lines []string
	for kind := range familyKinds {
		gvr, _ := f.resource(kind + "/")
		list, err := f.Dynamic.Resource(gvr).Namespace(f.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, item := range list.Items {
			if item.GetName() == rootCAName {
				continue
			}
			lines = append(lines, f.line(kind, &item))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func (f *family) line(kind string, item *unstructured.Unstructured) string {
	line := kind + "/" + item.GetName()
	if item.GetUID() != f.uids[line] {
		line += "?"
	}
	if item.GetDeletionTimestamp() != nil {
		line = "-" + line
	}
	for _, ref := range item.GetOwnerReferences() {
		line += "<" + ref.Name
		if !slices.Contains(slices.Collect(maps.Values(f.uids)), ref.UID) {
			line += "?"
		}
	}
	return line
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// runCollector runs the collector with a client config.
func runCollector(ctx context.Context, config *rest.Config) {
	server, err := connection.Open(config, connection.Options{UserAgent: "test", ReplacementsAsChanges: true})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	garbage.Run(ctx, garbage.Config{Metadata: server.Metadata, Discovery: server.Discovery})
}

// TestSoakPast shows the collector the past while users delete owners in every way, create objects again under their old names, and
// change owners.
func TestSoakPast(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	pasttest.Run(t, pasttest.Scenario{Client: c.Config, Controller: runCollector, Script: func(t *testing.T, name string) pasttest.Script {
		return newFamily(t, c, name).script(`
			# The owner is deleted and created again; its dependents of before go, and those of after stay.
			create cm/root
			create secret/child<cm/root
			create lease/grandchild<secret/child
			create cm/keeper
			create cm/again
			create secret/before<cm/again
			delete Background cm/root
			delete Background cm/again
			create cm/again
			create secret/after<cm/again

			# The dependent is deleted and created again without an owner.
			create cm/lost
			create secret/returns<cm/lost
			delete Background cm/lost
			delete Background secret/returns
			create secret/returns

			# The dependent gets another owner before its owner is deleted.
			create lease/moves<cm/keeper
			create cm/former
			create secret/adopted<cm/former
			own secret/adopted<cm/keeper
			delete Background cm/former

			# One of two owners is deleted in the foreground.
			create cm/one
			create secret/shared<!cm/one<cm/keeper
			create lease/alone<!cm/one
			delete Foreground cm/one
			create lease/child-of-shared<secret/shared

			# A chain is deleted in the foreground, and its top is created again.
			create cm/top
			create secret/middle<!cm/top
			create lease/bottom<!secret/middle
			delete Foreground cm/top
			create cm/top
			create lease/bottom-2<cm/top
		`, `
			cm/again cm/keeper cm/top lease/bottom-2<top lease/child-of-shared<shared lease/moves<keeper
			secret/adopted<keeper secret/after<again secret/returns secret/shared<keeper
		`)
	}})
}

// TestSoakPastOrphaned shows the collector the past while users delete owners whose dependents are to stay. A dependent may have been
// created just before.
func TestSoakPastOrphaned(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	pasttest.Run(t, pasttest.Scenario{Client: c.Config, Controller: runCollector, Script: func(t *testing.T, name string) pasttest.Script {
		return newFamily(t, c, name).script(`
			create cm/first
			create secret/of-first<cm/first
			create lease/of-first<!cm/first
			delete Orphan cm/first
			create cm/second
			create secret/of-second<cm/second
			own lease/of-first<cm/second
			delete Orphan cm/second
			create cm/third
			create cm/of-third<cm/third
			delete Orphan cm/third
			create cm/third
			create secret/of-third<cm/third
		`, `
			cm/of-third cm/third lease/of-first secret/of-first secret/of-second secret/of-third<third
		`)
	}})
}
