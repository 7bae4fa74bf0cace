package fieldownership

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
)

const (
	sweepEvery = time.Hour
	sweepPage  = 500
)

// SweepUntil calls Sweep every one to two hours until ctx ends. Sweep finds the records
// that AfterDelete did not remove.
func (m *Memory) SweepUntil(ctx context.Context, isThere Lookup) {
	if m == nil {
		return
	}
	for {
		// The first sweep also waits. At the start the server does not serve all custom
		// resources yet, and their objects would seem to be deleted.
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.Jitter(sweepEvery, 1)):
		}
		if err := m.Sweep(ctx, isThere); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "commands of objects that are gone are kept")
		}
	}
}

// Sweep removes the records of objects that do not exist any more. If the lookup of an
// object fails, its record stays and the sweep goes on; Sweep returns the first such
// error at the end.
func (m *Memory) Sweep(ctx context.Context, isThere Lookup) error {
	if m == nil {
		return nil
	}
	predicate := storage.Everything
	predicate.Limit = sweepPage
	var first error
	for {
		page := &corev1.ConfigMapList{}
		if err := m.storage.GetList(ctx, Prefix, storage.ListOptions{Recursive: true, Predicate: predicate}, page); err != nil {
			return fmt.Errorf("list commands: %w", err)
		}
		for i := range page.Items {
			record := &page.Items[i]
			object := Object{UID: types.UID(record.Name), Path: record.Data[pathKey]}
			if err := m.sweep(ctx, object, isThere); err != nil && first == nil {
				first = err
			}
		}
		if predicate.Continue = page.Continue; predicate.Continue == "" {
			return first
		}
	}
}

// sweep removes the record of one object if the object does not exist any more.
func (m *Memory) sweep(ctx context.Context, object Object, isThere Lookup) error {
	there, err := isThere(ctx, object)
	if err != nil {
		return fmt.Errorf("look for %s: %w", object.Path, err)
	}
	if there {
		return nil
	}
	if err := m.remove(ctx, object.UID); err != nil {
		return fmt.Errorf("remove commands of %s: %w", object.Path, err)
	}
	return nil
}

// AfterDelete removes the record of an object. Registries call it after they deleted
// the object.
func (c *Checker) AfterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	if c == nil || options != nil && len(options.DryRun) > 0 {
		return
	}
	accessor, ok := obj.(metav1.Object)
	if !ok {
		return
	}
	for _, entry := range accessor.GetManagedFields() {
		if mayRemember(entry.Manager) {
			c.memory.Forget(accessor.GetUID())
			return
		}
	}
}

// mayRemember reports whether the commands of a manager may be remembered. Most objects
// have no such manager, and their deletion then needs no write to the memory. Sweep removes
// the records of commands with other managers.
func mayRemember(manager string) bool {
	switch manager {
	case "kubectl-client-side-apply", "kubectl-create", "holdfast-controllers", "holdfast-operators":
		return false
	}
	return strings.HasPrefix(manager, "kubectl") || strings.HasPrefix(manager, "holdfast")
}
