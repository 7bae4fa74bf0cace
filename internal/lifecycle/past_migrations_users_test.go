package lifecycle_test

import (
	"context"
	"errors"
	"fmt"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/pasttest"
)

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// once returns a step that tries a write until it succeeds, once. A server refuses writes for a moment while a definition changes.
func once(name string, try func(ctx context.Context) error) pasttest.Step {
	done := false
	return pasttest.Step{Name: name, Wait: func(ctx context.Context) error {
		if done {
			return nil
		}
		err := try(ctx)
		done = err == nil
		return err
	}}
}

// objects returns the client of a kind of the run.
func (m migrated) objects(plural string) dynamic.ResourceInterface {
	return m.Dynamic.Resource(schema.GroupVersionResource{Group: m.group, Version: "v1", Resource: plural}).Namespace(metav1.NamespaceDefault)
}

// define returns a step that creates a definition which stores its objects in v1.
func (m migrated) define(plural string) pasttest.Step {
	version := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + m.group},
		"spec": map[string]any{
			"group": m.group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": "Kind" + plural},
			"versions": []any{version("v1", true), version("v2", false)},
		},
	}}
	created := false
	return once("define "+plural, func(ctx context.Context) error {
		if !created {
			if _, err := m.Dynamic.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
				return err
			}
			created = true
		}
		_, err := m.objects(plural).List(ctx, metav1.ListOptions{})
		return err
	})
}

// undefine returns a step that deletes a definition with its objects, and waits until it is gone.
func (m migrated) undefine(plural string) pasttest.Step {
	return once("delete the definition of "+plural, func(ctx context.Context) error {
		err := m.Dynamic.Resource(definitions).Delete(ctx, plural+"."+m.group, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it exists"), err)
	})
}

// storeIn returns a step that makes a version the storage version.
func (m migrated) storeIn(plural, version string) pasttest.Step {
	const patch = `[{"op": "replace", "path": "/spec/versions/0/storage", "value": %t}, {"op": "replace", "path": "/spec/versions/1/storage", "value": %t}]`
	return once("store "+plural+" in "+version, func(ctx context.Context) error {
		_, err := m.Dynamic.Resource(definitions).Patch(ctx, plural+"."+m.group, types.JSONPatchType,
			fmt.Appendf(nil, patch, version == "v1", version == "v2"), metav1.PatchOptions{})
		return err
	})
}

// write returns a step that sets the count of an object. It creates the object if there is none.
func (m migrated) write(plural, name string, count int) pasttest.Step {
	return once(fmt.Sprintf("set %s to %d", name, count), func(ctx context.Context) error {
		_, err := m.objects(plural).Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"count":%d}}`, count), metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		_, err = m.objects(plural).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": m.group + "/v1", "kind": "Kind" + plural, "metadata": map[string]any{"name": name}, "spec": map[string]any{"count": int64(count)},
		}}, metav1.CreateOptions{})
		return err
	})
}

// remove returns a step that deletes an object.
func (m migrated) remove(plural, name string) pasttest.Step {
	return once("delete "+name, func(ctx context.Context) error {
		if err := m.objects(plural).Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// migrate returns a step that creates a migration.
func (m migrated) migrate(name, resource string) pasttest.Step {
	return once("migrate "+resource+" by "+name, func(ctx context.Context) error {
		_, err := m.StoragemigrationV1().StorageVersionMigrations().Create(ctx, &storagemigrationv1.StorageVersionMigration{
			ObjectMeta: metav1.ObjectMeta{Name: m.run + "-" + name},
			Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource(schema.ParseGroupResource(resource))},
		}, metav1.CreateOptions{})
		return err
	})
}

// forget returns a step that deletes a migration.
func (m migrated) forget(name string) pasttest.Step {
	return once("delete migration "+name, func(ctx context.Context) error {
		return m.StoragemigrationV1().StorageVersionMigrations().Delete(ctx, m.run+"-"+name, metav1.DeleteOptions{})
	})
}

// succeeds returns a step that waits until a migration has succeeded.
func (m migrated) succeeds(name string) pasttest.Step {
	return pasttest.Step{Name: "migration " + name + " has succeeded", Wait: func(ctx context.Context) error {
		found, err := m.StoragemigrationV1().StorageVersionMigrations().Get(ctx, m.run+"-"+name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := ending(found); got != string(storagemigrationv1.MigrationSucceeded) {
			return fmt.Errorf("its status is %q", got)
		}
		return nil
	}}
}
